"""The folder that the bench of the view reads holds what it says: every row once, a twenty-fourth of them an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tables import narrow_table, wide_table
from bench.view import HOURS, moment_of, write_folder
from tailrace.change.schema import TableSchema
from tests.pipeline.view.reading import batch_rows

ROWS = 12_000


@pytest.mark.parametrize("table", [narrow_table(), wide_table()], ids=lambda table: table.name)
def test_a_day_of_changes_is_spread_evenly(tmp_path: Path, table: TableSchema) -> None:
    size = write_folder(tmp_path, table, ROWS)
    assert size == sum(path.stat().st_size for path in tmp_path.rglob("*.csv"))
    assert len(batch_rows(tmp_path, table=table.full_name, columns="_commit_ts")) == ROWS
    bounds = [str(moment_of(0.5)), str(moment_of(0.5 + 1 / HOURS))]
    hour = batch_rows(tmp_path, table=table.full_name, columns="_commit_ts", startTs=bounds[0], endTs=bounds[1])
    assert abs(len(hour) - ROWS / HOURS) <= 200
