"""Namings and receipts are texts that come back as they were, and anything else is refused."""

from __future__ import annotations

import pytest

from tailrace.errors import DecodeError
from tailrace.sink.storage.naming import FolderMoves, Move, Naming
from tailrace.sink.storage.schema_files import effective_version, schema_path
from tailrace.sink.storage.staging import StagedFile, epoch_and_cut, from_payload, to_payload

NAMING = Naming(
    (("s/t/meta/schema_1_0000000002.json", '{"Table": "ü"}'),),
    (
        FolderMoves("s/t/1", 8, (Move("st/a", "CDC7.csv", 10, "ab"), Move("st/b", "CDC8.csv", 11, "cd"))),
        FolderMoves("s/u/1", 1, (Move("other/c", "CDC1.csv", 12, "ef"),)),
    ),
)


def test_a_naming_comes_back() -> None:
    assert Naming.from_json(NAMING.to_json()) == NAMING
    assert NAMING.folders[0].index == ("s/t/1/meta/CDC.index", b"CDC8.csv\n")
    assert NAMING.stages == {"st", "other"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schemas":[],"folders":[["a"]]}', '{"schemas":[1],"folders":[]}'])
def test_another_text_is_no_naming(text: str) -> None:
    with pytest.raises(DecodeError, match="naming"):
        Naming.from_json(text)


def test_a_receipt_comes_back() -> None:
    files = [StagedFile(".tailrace/stage/e1-c2/p0-x-0.part", 7, "s", "ü", 5, 0, "2026-01-01", 3, 99, "ab", 10, 12)]
    assert from_payload(to_payload(files)) == files
    for text in ("", "1", '[{"path":"x"}]'):
        with pytest.raises(DecodeError, match="receipt"):
            from_payload(text)


def test_stage_folders_are_known_by_their_names() -> None:
    assert [epoch_and_cut(name) for name in ("e12-c3", "e1-c", "x", "e1-c2-", "e-1-c2")] == [(12, 3)] + [None] * 4


def test_the_version_of_a_folder_is_its_own_or_the_largest_of_the_same_checksum() -> None:
    names = ["schema_10_0000000007.json", "schema_20_0000000007.json", "schema_30_0000000008.json", "schema_15_7.json"]
    names += ["schema_40_0000000007.json.tmp.ab", "x"]
    assert effective_version(names, 10, 7) == 10
    assert effective_version(names, 15, 7) == 20
    assert effective_version(names, 30, 7) == 20
    assert effective_version(names, 30, 8) == 30
    assert effective_version(names, 30, 9) is None


def test_schema_files_have_ten_digits_of_checksum() -> None:
    assert schema_path("db", "", 5, 7) == "db/meta/schema_5_0000000007.json"
    assert schema_path("db", "t", 5, 4294967295) == "db/t/meta/schema_5_4294967295.json"
