"""Checkpoint cases of the golden vectors: what every codec makes of a watermark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.vectors.kinds.ddl import ENCODERS, MESSAGES, difference

KIND = "checkpoint"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, "" | "skip: why" | what is wrong) of each output of a case."""
    for protocol, outputs in document["outputs"].items():
        for output in outputs:
            name = f"{document['name']} {output['config']['id']}"
            if protocol not in ENCODERS:
                yield name, f"skip: codec {protocol} is not built yet"
                continue
            encoder = ENCODERS[protocol](output["config"])
            found = [encoder.watermark(each["ts"]) for each in output["messages"]]
            yield name, difference(found, output["messages"], MESSAGES[protocol])
