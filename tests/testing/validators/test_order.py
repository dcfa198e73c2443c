"""The rules of order are silent on a right history and find each wrong one."""

from __future__ import annotations

import pytest

from tailrace.change.ddl import DdlType
from tailrace.testing.validators import NoRowBack, OrderPerKey, ResolvedHolds, Validators
from tests.testing.validators.histories import STREAM, Row, changes, delete, fed, insert, step, update

RIGHT = [
    [insert(10, 1), insert(10, 2), insert(11, 3)],
    [update(12, 1, "a", "b"), delete(12, 2, "a"), insert(12, 2, "again")],
    [delete(13, 1, "b"), insert(14, 1), update(15, 3, "a", "c")],
]


def test_a_right_history_has_no_findings() -> None:
    rules = Validators([OrderPerKey(), NoRowBack(), ResolvedHolds()])
    for batch in RIGHT:
        assert rules.rows(STREAM, [changes(*batch)]) == []
        assert rules.resolved(batch[-1][0]) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([[update(12, 1, "a", "b")], [update(11, 1, "b", "c")]], "of 11 comes after its change of 12"),
        ([[update(12, 1, "a", "b"), update(12, 1, "a", "b")]], "changes twice at 12"),
        ([[delete(12, 1, "a")], [delete(12, 1, "a")]], "changes twice at 12"),
        ([[insert(12, 1), insert(13, 2)], [insert(12, 1)]], "changes twice at 12"),
    ],
)
def test_a_key_whose_changes_are_out_of_order_is_found(wrong: list[list[Row]], said: str) -> None:
    [finding] = fed(OrderPerKey(), *wrong)
    assert said in finding.message
    assert finding.place.startswith("conformance.t")


def test_other_keys_may_come_in_any_order() -> None:
    assert fed(OrderPerKey(), [insert(12, 1)], [insert(11, 2)], [insert(10, 3)]) == []


def test_a_key_is_known_by_all_of_its_changes_however_many_others_there_are() -> None:
    many = [insert(10, key) for key in range(2, 5000)]
    found = fed(OrderPerKey(), [insert(20, 1)], many, [insert(19, 1)])
    assert [finding.message for finding in found] == ["a key's change of 19 comes after its change of 20"]


@pytest.mark.parametrize("wrong", [[[insert(12, 1), insert(11, 2)]], [[insert(12, 1)], [insert(11, 2)]]])
def test_a_row_that_goes_back_in_time_is_found_within_and_between_batches(wrong: list[list[Row]]) -> None:
    [finding] = fed(NoRowBack(), *wrong)
    assert finding.message == "a row of 11 comes after one of 12"


def test_a_row_below_what_was_resolved_is_found() -> None:
    rule = ResolvedHolds()
    assert fed(rule, [insert(10, 1)]) == []
    assert rule.resolved(20) == []
    assert fed(rule, [insert(21, 2)]) == []
    [finding] = fed(rule, [insert(20, 3), insert(30, 4)])
    assert finding.message == "1 rows from 20 to 20 appear though 20 was said to be complete"


def test_a_resolved_ts_that_falls_is_found() -> None:
    rule = ResolvedHolds()
    rule.resolved(20)
    assert rule.resolved(20) == []
    assert [finding.message for finding in rule.resolved(19)] == ["it fell from 20 to 19"]
    # What was promised first still holds.
    assert len(fed(rule, [insert(20, 3)])) == 1


def test_a_statement_below_what_was_resolved_is_found_and_a_mere_shape_is_not() -> None:
    rule = ResolvedHolds()
    rule.resolved(20)
    assert rule.shape([step(DdlType.NONE)], 10) == []
    assert rule.shape([step(DdlType.ADD_COLUMN, query="ALTER ...")], 21) == []
    [finding] = rule.shape([step(DdlType.ADD_COLUMN, query="ALTER ...")], 20)
    assert "'ALTER ...' of 20 appears" in finding.message


def test_many_faults_of_one_kind_are_a_few_findings() -> None:
    found = fed(NoRowBack(), [insert(50, 1), *(insert(10, key) for key in range(2, 100))])
    assert len(found) == 4
    assert found[-1].message == "and 95 more like these"
