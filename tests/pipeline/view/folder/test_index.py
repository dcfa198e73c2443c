"""The index: spans of files, and the place of a commit ts in one, without reading it whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tailrace.codec.csv import CsvOptions
from tailrace.errors import DecodeError
from tailrace.pipeline.view.folder import index as index_module
from tailrace.pipeline.view.folder.index import FileSpan, Index
from tailrace.pipeline.view.folder.listing import DataFile
from tailrace.pipeline.view.folder.place import Place
from tailrace.pipeline.view.folder.rowheads import RowHeads
from tests.pipeline.view.folders import Change, Folder, orders

ROWS: list[Change] = [("I", 100 + at // 3, (at, f'{at}\r\n"I","orders","shop",999,' * (at % 4))) for at in range(400)]


class _Counting(Place):
    read_bytes = 0

    def part(self, path: str, begin: int, end: int) -> object:
        self.read_bytes += end - begin
        return super().part(path, begin, end)


Made = tuple[Index, DataFile, _Counting]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Made]:
    monkeypatch.setattr(index_module, "_WINDOW", 64)
    monkeypatch.setattr(index_module, "_CLOSE", 512)
    monkeypatch.setattr(index_module, "_kept", type(index_module._kept)())

    def make(rows: list[Change], form: CsvOptions | None = None) -> Made:
        folder = Folder(tmp_path, form or CsvOptions(include_commit_ts=True))
        path = folder.rows(orders(), 1, rows)
        place = _Counting("test", pafs.LocalFileSystem(), str(tmp_path))
        name, state = path.relative_to(tmp_path).as_posix(), path.stat()
        file = DataFile(100, 0, "", "", 1, name, state.st_size, state.st_mtime_ns)
        return Index(place, RowHeads(folder.form, "shop", "orders")), file, place

    return make


def test_the_span_of_a_file_is_that_of_its_rows_and_is_found_at_its_ends(made: Callable[..., Made]) -> None:
    index, file, place = made(ROWS)
    assert index.spans([file]) == [FileSpan(100, 233)]
    assert place.read_bytes < file.size / 10
    before = place.read_bytes
    assert index.spans([file]) == [FileSpan(100, 233)]
    assert place.read_bytes == before


@pytest.mark.parametrize("header", [False, True])
def test_a_file_of_one_row_has_a_span(made: Callable[..., Made], header: bool) -> None:
    index, file, _ = made([("U", 7, (1, "x" * 5000))], CsvOptions(include_commit_ts=True, output_field_header=header))
    assert index.spans([file]) == [FileSpan(7, 7)]


def test_a_part_around_a_span_holds_all_of_its_rows_and_little_else(made: Callable[..., Made]) -> None:
    index, file, _ = made(ROWS)
    text = index.place.part(file.path, 0, file.size).to_pybytes()
    heads = [index.heads.first(text), *index.heads.inside(text)]
    places = {head.offset: head.ts for head in heads if head}
    for after in range(98, 236, 3):
        for upto in (after + 1, after + 20, 300):
            begin, end = index.around(file, after, upto)
            assert begin in places and (end in places or end == file.size)
            inside = {place for place, ts in places.items() if after < ts <= upto}
            assert all(begin <= place < end for place in inside)
            if upto == after + 1:
                assert end - begin < 3000


def test_the_row_at_any_place_is_the_next_that_begins(made: Callable[..., Made]) -> None:
    index, file, _ = made(ROWS[:30])
    text = index.place.part(file.path, 0, file.size).to_pybytes()
    begins = [0, *(head.offset for head in index.heads.inside(text)), file.size]
    for offset in range(file.size + 1):
        assert index.row_at(file, offset) == min(place for place in begins if place >= offset)


def test_a_file_that_is_not_of_the_form_is_refused_by_name(made: Callable[..., Made]) -> None:
    index, file, _ = made(ROWS[:3])
    wrong = Index(index.place, RowHeads(CsvOptions(include_commit_ts=True, output_old_value=True), "shop", "orders"))
    with pytest.raises(DecodeError, match=r"CDC0+1\.csv"):
        wrong.spans([file])
