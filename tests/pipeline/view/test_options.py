"""Options are read whole or refused by name."""

from __future__ import annotations

import pytest

from tailrace.change.tso import compose
from tailrace.errors import ConfigError
from tailrace.pipeline.view.options import LATEST, read_options

BASE = {"path": "/cdc", "table": "shop.orders"}


@pytest.mark.parametrize(
    ("said", "schema", "table"),
    [
        ("shop.orders", "shop", "orders"),
        ("`Odd Schema.v1`.`my table`", "Odd Schema.v1", "my table"),
        ("`a``b`.c", "a`b", "c"),
        ("名前.123", "名前", "123"),
    ],
)
def test_a_table_is_named_by_schema_and_name(said: str, schema: str, table: str) -> None:
    found = read_options(BASE | {"table": said})
    assert (found.schema, found.table) == (schema, table)


def test_names_of_options_have_no_case_and_moments_may_be_tsos_or_iso_in_the_zone() -> None:
    found = read_options(BASE | {"STARTTS": "5", "endts": "2026-11-18T10:00:00", "timezone": "Asia/Shanghai"})
    assert (found.start_ts, found.end_ts) == (5, compose(1_794_996_000_000 - 8 * 3_600_000))
    assert read_options(BASE | {"startTs": "latest"}).start_ts == LATEST
    assert read_options(BASE).start_ts is None


def test_sizes_lists_and_flags() -> None:
    said = {"maxBytesPerTrigger": "64m", "columns": "id, `a,b` ,c", "partitions": "7, 8", "mergeSchema": "TRUE"}
    found = read_options(BASE | said)
    assert found.max_bytes == 64 << 20
    assert found.columns == ("id", "a,b", "c")
    assert found.partitions == {7, 8}
    assert found.merge_schema


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("tabel", "x", "did you mean table"),
        ("table", "orders", "schema.table"),
        ("table", "a.b.c", "schema.table"),
        ("startTs", "yesterday", "startTs"),
        ("endTs", "99999999999999999999", "endTs"),
        ("mergeSchema", "yes", "mergeSchema"),
        ("zeroDates", "keep", "zeroDates"),
        ("timeZone", "Mars/Olympus", "timeZone"),
        ("maxFilesPerTrigger", "0", "maxFilesPerTrigger"),
        ("maxBytesPerTrigger", "many", "maxBytesPerTrigger"),
        ("partitions", "p0", "partitions"),
        ("path", "", "load"),
    ],
)
def test_what_is_wrong_is_said_by_name(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_options(BASE | {name: value})


def test_no_text_of_options_shows_a_secret() -> None:
    found = read_options(BASE | {"path": "s3://bucket/x?access-key=me&secret-access-key=hush"})
    assert "hush" not in repr(found) + str(found)
