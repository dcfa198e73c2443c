"""Changes that do not fit what the table holds are found, under the schema that it then has."""

from __future__ import annotations

import pytest

from tailrace.change.ddl import DdlType
from tailrace.testing.conformance.items import items_table
from tailrace.testing.validators import ImagesMatch
from tests.testing.validators.histories import STREAM, TABLE, Row, changes, delete, fed, insert, step, update

START = [insert(10, 1, "a"), insert(10, 2, "b")]


def test_a_right_history_has_no_findings_and_adds_up() -> None:
    rule = ImagesMatch()
    assert fed(rule, START, [update(11, 1, "a", "A"), delete(11, 2, "b"), insert(11, 2, "new")]) == []
    assert fed(rule, [update(12, 1, "A", "B"), delete(13, 1, "B"), insert(14, 1, "C"), (15, "u", 2, "c", None)]) == []
    rows = rule.tables["conformance.t"].sort_by("id").to_pylist()
    assert rows == [{"id": 1, "note": "C"}, {"id": 2, "note": "c"}]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (update(11, 1, "x", "y"), "the old values of a change at 11 are not what the change before it left"),
        (delete(11, 1, "x"), "the old values of a change at 11"),
        (insert(11, 1, "a"), "a row comes at 11 that is there already"),
        (delete(11, 3, "a"), "a row goes at 11 that is not there"),
        (update(11, 3, "a", "b"), "a row goes at 11 that is not there"),
        ((11, "u", 3, "b", None), "a row is updated at 11 that is not there"),
    ],
)
def test_a_change_that_does_not_fit_is_found(wrong: Row, said: str) -> None:
    [finding] = fed(ImagesMatch(), START, [wrong])
    assert said in finding.message


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_change_that_was_lost_is_found_by_the_next_one(lost: int) -> None:
    history = [insert(10, 1, "a"), update(11, 1, "a", "b"), update(12, 1, "b", "c"), delete(13, 1, "c")]
    del history[lost]
    assert fed(ImagesMatch(), *[[row] for row in history])
    assert fed(ImagesMatch(), history)


def test_a_batch_that_came_twice_is_found() -> None:
    assert fed(ImagesMatch(), START, START)


def test_a_new_column_keeps_what_was_there() -> None:
    rule = ImagesMatch()
    wide = items_table("t", 7, 20, ["size"])
    assert rule.shape([step(DdlType.CREATE_TABLE)], 1) == []
    assert fed(rule, START) == []
    assert rule.shape([step(DdlType.ADD_COLUMN, wide, "ALTER TABLE ...")], 20) == []
    assert rule.rows(STREAM, [changes(update(21, 1, "a", "b"), table=wide)]) == []
    [finding] = rule.rows(STREAM, [changes(update(22, 2, "x", "b"), table=wide)])
    assert "old values" in finding.message


def test_a_truncated_table_begins_anew() -> None:
    rule = ImagesMatch()
    rule.shape([step(DdlType.CREATE_TABLE)], 1)
    assert fed(rule, START) == []
    rule.shape([step(DdlType.TRUNCATE_TABLE, TABLE.at_version(20), "TRUNCATE TABLE ...")], 20)
    assert fed(rule, [insert(21, 1, "a")]) == []
    assert rule.tables["conformance.t"].num_rows == 1
