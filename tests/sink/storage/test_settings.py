"""The protocol that a changefeed names is the one that the storage sink writes, in the form that it asks for."""

from __future__ import annotations

import json
from pathlib import Path

from tailrace.change.batch import DELETE
from tailrace.codec.canal_json import CanalJsonOptions
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.settings import load_settings
from tailrace.testing.reader import FolderForm, read_local
from tests.codec.canal_json.test_decode import TABLE, image
from tests.codec.csv.reference import Row, as_batch
from tests.sink.storage.folders import Run, batch, data_files, spec, table, ts

CANAL_JSON = "&protocol=canal-json&enable-tidb-extension=true"


def test_canal_json_becomes_json_files_that_read_back(tmp_path: Path) -> None:
    orders = table()
    run = Run(spec(tmp_path, CANAL_JSON))
    run.deliver([batch(orders, [ts(1), ts(2)])])
    run.deliver([batch(orders, [ts(3)])])
    folder = f"shop/orders/{orders.version}/2026-01-01"
    assert sorted(path.name for path in (tmp_path / folder).glob("*.json")) == [f"CDC{at:020d}.json" for at in (1, 2)]
    assert (tmp_path / folder / "meta" / "CDC.index").read_text() == f"CDC{2:020d}.json\n"
    assert data_files(tmp_path) == []
    contents = read_local(tmp_path, FolderForm(canal_json=CanalJsonOptions(enable_tidb_extension=True)))
    assert sorted(contents.tables["shop.orders"].column("id").to_pylist()) == [ts(1), ts(2), ts(3)]
    assert (contents.gaps, contents.fallbacks) == ((), ())


def test_every_option_of_canal_json_reaches_its_encoder(tmp_path: Path) -> None:
    toml = """[sink]
protocol = "canal-json"
terminator = "\\n"
content-compatible = true
delete-only-output-handle-key-columns = true
"""
    encoder = load_settings(SinkSpec("s", f"file://{tmp_path}", toml)).encoder
    assert encoder.extension == ".json"
    rows = [Row(DELETE, 5 << 18, image(1), None)]
    written = encoder.encode(as_batch(TABLE, rows)).to_pybytes()
    assert written.endswith(b"}\n") and not written.endswith(b"\r\n")
    said = json.loads(written)
    assert said["data"] == [{"id": "1"}] and said["mysqlType"] == {"id": "bigint(20)"} and "_tidb" not in said
