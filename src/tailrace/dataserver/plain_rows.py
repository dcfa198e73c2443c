"""Plain rows: pages as lists of CdcChangeData, for pullers of the first design, which know no columns.

This is the slow way, row by row, and only for those who ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tailrace.dataserver.rows import ipc_batch
from tailrace.proto import cdc_pb2 as pb


def snapshot_data(response: pb.CdcPullSnapshotResponse) -> None:
    """Turn the pages of an answer into rows."""
    for page in response.pages:
        response.snapshot_data.extend(_rows(page))
    del response.pages[:]


def log_data(response: pb.CdcPullLogResponse) -> None:
    """Turn the pages of an answer into rows, without those outside of its span."""
    for page in response.pages:
        inside = (row for row in _rows(page) if response.from_ts < row.commit_ts <= response.upto_ts)
        response.log_data.extend(inside)
    del response.pages[:]


def _rows(page: pb.Page) -> Iterator[pb.CdcChangeData]:
    batch = ipc_batch(page.arrow, "a page")
    columns = set(batch.schema.names)
    before = batch.column("before") if "before" in columns else pa.nulls(batch.num_rows, pa.binary())
    own = "commit_ts" in columns
    for at in range(batch.num_rows):
        value, old = batch.column("value")[at].as_py(), before[at].as_py()
        yield pb.CdcChangeData(
            type=pb.CdcChangeData.DELETE if value is None else pb.CdcChangeData.WRITE,
            key=batch.column("key")[at].as_py(),
            value=value,
            commit_ts=batch.column("commit_ts")[at].as_py() if own else page.commit_ts + at * page.step,
            start_ts=batch.column("start_ts")[at].as_py() if own else page.start_ts + at * page.step,
            old_value=old,
            has_old_value=old is not None,
        )
