"""The board and the alerts ask for nothing that is not there, and every alert has a page that says what to do."""

from __future__ import annotations

import re

import pytest

from tailrace.errors import TailraceError, _kinds
from tailrace.observe.names import EVENTS, METRICS
from tests.arch.tree import ROOT
from tests.ops.expressions import RULE_TESTS, asked, board, expressions, joined_by, panel_expressions, rules

OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SERIES = {series: metric for metric in METRICS.values() for series in metric.series}
# What a scrape adds to every series, and series that no metric of ours is.
ADDED = {"job", "instance"}
FOREIGN = {"up", "process_resident_memory_bytes"}

CASES = [pytest.param(expression, id=title) for title, expression in expressions()]


def labels_of(name: str) -> set[str]:
    own = set(SERIES[name].labels) if name in SERIES else set()
    return own | ADDED | ({"le"} if name.endswith("_bucket") else set())


@pytest.mark.parametrize("expression", CASES)
def test_an_expression_asks_for_series_and_labels_that_there_are(expression: str) -> None:
    found = asked(expression)
    assert found
    for each in found:
        assert each.name in SERIES or each.name in FOREIGN, each.name
        assert set(each.labels) <= labels_of(each.name)
    assert joined_by(expression) <= set.union(*(labels_of(each.name) for each in found))


@pytest.mark.parametrize("expression", CASES)
def test_counters_are_only_asked_for_their_rate(expression: str) -> None:
    counters = [each.name for each in asked(expression) if each.name.endswith(("_total", "_bucket", "_count"))]
    assert len(re.findall(r"\b(?:rate|increase)\(", expression)) == len(counters)


def test_values_that_expressions_pick_by_are_ones_that_there_are() -> None:
    texts = [expression for _, expression in expressions()]
    events = {value for text in texts for value in re.findall(r'event="([^"]+)"', text)}
    states = {value for text in texts for found in re.findall(r'state=~?"([^"]+)"', text) for value in found.split("|")}
    assert events and events <= EVENTS
    assert states <= {"new", "snapshot", "normal", "warning", "failed", "finished", "cancelling", "paused"}


def test_every_metric_of_the_servers_is_on_the_board() -> None:
    shown = {each.name for _, expression in panel_expressions() for each in asked(expression)}
    missing = [metric.name for metric in METRICS.values() if not shown & set(metric.series)]
    # The state of each subscription is what the board's own choice of subscriptions is made of.
    assert missing == ["tailrace_subscription_state"]
    assert "label_values(tailrace_subscription_state, subscription)" in str(board()["templating"])


def test_the_panels_of_the_board_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in board()["panels"]}) == len(board()["panels"])


def test_every_alert_says_how_bad_it_is_and_what_it_is_about() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["alert"].startswith("Tailrace")


def test_every_alert_is_tried_out() -> None:
    text = RULE_TESTS.read_text(encoding="utf-8")
    fires = set(re.findall(r"- alertname: (\w+)\n\s+eval_time: \w+\n\s+exp_alerts", text))
    assert fires == {rule["alert"] for rule in rules()}


def test_the_page_says_what_each_alert_means_and_nothing_of_others() -> None:
    assert re.findall(r"^\| `(Tailrace\w+)` \|", OPERATIONS, re.MULTILINE) == [rule["alert"] for rule in rules()]


def test_the_page_lists_every_metric_as_the_server_shows_it() -> None:
    listed = re.findall(r"^\| `(tailrace_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$", OPERATIONS, re.MULTILINE)
    wanted = [
        (metric.name, metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for metric in METRICS.values()
    ]
    assert listed == wanted


def test_every_code_of_an_error_is_one_word() -> None:
    """Codes are a label's values: there must be few, and each must be stable."""
    codes = [kind.code for kind in _kinds(TailraceError).values()]
    assert len(codes) < 50
    assert all(re.fullmatch(r"TR-\d{4}", code) for code in codes)
