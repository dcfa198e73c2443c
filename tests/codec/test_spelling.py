"""Text of decimals, dates and times is taken in the one form that its type has."""

import pyarrow as pa
import pytest

from tailrace.change.parse import parse_type
from tailrace.codec.spelling import misspelled


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("decimal(5,2)", ["1.50", "-999.99", "0.00"], ["1.5", "1.500", "1", ".50", "1000.00", "1,50", "+1.50", "1e2"]),
        ("decimal(3,3)", ["0.999", "-0.001"], ["10.000", ".999"]),
        ("decimal(65,0)", ["9" * 65, "-1"], ["9" * 66, "1.", "1.0", ""]),
        (
            "date",
            ["2024-02-29", "0000-00-00", "9999-12-31"],
            ["2024-02-32", "24-02-29", "2024-02-29 00:00:00", "2024/02/29"],
        ),
        ("datetime", ["2024-02-29 23:59:59"], ["2024-02-29T23:59:59", "2024-02-29 23:59:60", "2024-02-29 23:59:59.0"]),
        ("timestamp(3)", ["2024-02-29 23:59:59.123"], ["2024-02-29 23:59:59", "2024-02-29 23:59:59.12"]),
        ("time(1)", ["-838:59:59.0", "01:02:03.4"], ["1:02:03.4", "839:00:00.0", "01:60:00.0", "01:02:03"]),
        ("vector(3)", ["[1,2.5,-3e-05]", "[]"], ["1,2", "[1;2]", "[1"]),
        ("json", ["{}", "anything"], []),
        ("varchar(5)", ["", "x" * 9], []),
    ],
)
def test_only_the_form_of_the_type_is_taken(kind: str, good: list[str], bad: list[str]) -> None:
    column_type = parse_type(kind)
    assert misspelled(pa.array([*good, None], pa.string()), column_type) == -1
    for text in bad:
        assert misspelled(pa.array([None, *good, text, *good], pa.string()), column_type) == len(good) + 1, text
    assert misspelled(pa.nulls(3, pa.string()), column_type) == -1
