"""Checkpoint cases of the golden vectors: what every codec makes of a watermark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.codec.canal_json import CanalJsonMessageEncoder
from tests.vectors.kinds.ddl import difference
from tests.vectors.kinds.rows import canal_json_options, no_time

KIND = "checkpoint"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, "" | "skip: why" | what is wrong) of each output of a case."""
    for protocol, outputs in document["outputs"].items():
        for output in outputs:
            name = f"{document['name']} {output['config']['id']}"
            if protocol != "canal-json":
                yield name, f"skip: codec {protocol} is not built yet"
                continue
            encoder = CanalJsonMessageEncoder(canal_json_options(output["config"]), clock=no_time)
            yield name, difference([encoder.watermark(each["ts"]) for each in output["messages"]], output["messages"])
