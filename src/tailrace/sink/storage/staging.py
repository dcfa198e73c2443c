"""Staged files: what an attempt of a piece has written, before it has a name that a reader would look at.

    .tailrace/stage/e<epoch>-c<cut>/p<piece>-<attempt>-<n>.part

Attempts never share a file, so a repeated task cannot spoil what another finished. `StagedFile` is what a receipt
says of one: enough to name it, and to know it again after the move. Pure values; who removes them is `sweep`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.progress.cut import Piece
from tailrace.store.filesystem import OWN

STAGE = f"{OWN}/stage"

_FOLDER = re.compile(r"e(\d+)-c(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file: rows of one table version, one partition and one date, from `first_ts` to `last_ts` in order."""

    path: str
    table_id: int
    schema: str
    table: str
    version: Ts
    partition_id: int
    date: str
    rows: int
    bytes: int
    checksum: str
    first_ts: Ts
    last_ts: Ts


def cut_folder(epoch: int, cut: int) -> str:
    return f"{STAGE}/e{epoch}-c{cut}"


def epoch_and_cut(folder_name: str) -> tuple[int, int] | None:
    """What the name of a folder below `.tailrace/stage` says; None for a name that is not of this shape."""
    found = _FOLDER.fullmatch(folder_name)
    return (int(found[1]), int(found[2])) if found else None


def staged_path(piece: Piece, attempt: str, number: int) -> str:
    return f"{cut_folder(piece.epoch, piece.cut)}/p{piece.number}-{attempt}-{number}.part"


def to_payload(files: Sequence[StagedFile]) -> str:
    return json.dumps([asdict(file) for file in files], separators=(",", ":"))


def from_payload(payload: str) -> list[StagedFile]:
    """Raises DecodeError for a text that `to_payload` did not write."""
    try:
        return [StagedFile(**fields) for fields in json.loads(payload)]
    except (TypeError, ValueError) as error:
        raise DecodeError(f"a receipt of the storage sink cannot be read ({error}): {payload[:80]!r}") from error
