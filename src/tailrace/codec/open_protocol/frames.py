"""Frames of many messages: where in the bytes each one's content begins and ends.

The key of a message is its version and its frames, the value as many frames; each frame is its length in eight bytes
and its content. A message that is not exactly that is Malformed, by its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.codec.grid import Malformed
from tailrace.codec.open_protocol.events import VERSION
from tailrace.codec.open_protocol.rows import PREFIX

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]
_FEW = 8


@dataclass(frozen=True, slots=True)
class Frames:
    """The contents, message by message; `message` says of which message each is."""

    data: Bytes
    starts: Places
    ends: Places
    message: Places


def frames_of(messages: pa.LargeBinaryArray, what: str, skipped: int) -> Frames:
    """`skipped` bytes of each message are before its first frame."""
    _, offsets, held = messages.buffers()
    borders = np.frombuffer(offsets, np.int64)[messages.offset : messages.offset + len(messages) + 1]
    data = np.frombuffer(held if held is not None else b"", np.uint8)
    at, ends, active = borders[:-1] + skipped, borders[1:], np.arange(len(messages))
    if (at > ends).any():
        raise Malformed(int(np.argmax(at > ends)), f"its {what} is too short to be one")
    found: list[tuple[Places, Places, Places]] = []
    while True:
        kept = at < ends
        at, ends, active = at[kept], ends[kept], active[kept]
        if not len(at):
            break
        if len(at) <= _FEW:
            found += [
                _alone(data, *each, what) for each in zip(at.tolist(), ends.tolist(), active.tolist(), strict=True)
            ]
            break
        sizes = np.full(len(at), -1, np.int64)
        room = at + PREFIX <= ends
        words = np.ndarray((len(data) - PREFIX + 1,), np.dtype(">i8"), np.ascontiguousarray(data), 0, (1,))
        sizes[room] = words[at[room]]
        wrong = (sizes < 0) | (sizes > ends - at - PREFIX)
        if wrong.any():
            raise Malformed(int(active[np.argmax(wrong)]), f"a frame of its {what} is longer than the {what}")
        found.append((at + PREFIX, at + PREFIX + sizes, active))
        at = at + PREFIX + sizes
    starts, stops, message = (
        np.concatenate([np.zeros(0, np.int64), *(np.asarray(each[part]) for each in found)]) for part in range(3)
    )
    order = np.argsort(message, kind="stable")
    return Frames(data, starts[order], stops[order], message[order])


def _alone(data: Bytes, at: int, end: int, number: int, what: str) -> tuple[Places, Places, Places]:
    text, starts, stops = data[at:end].tobytes(), [], []
    place = 0
    while place < len(text):
        size = int.from_bytes(text[place : place + PREFIX], "big")
        if place + PREFIX + size > len(text):
            raise Malformed(number, f"a frame of its {what} is longer than the {what}")
        starts.append(at + place + PREFIX)
        place += PREFIX + size
        stops.append(at + place)
    return np.array(starts, np.int64), np.array(stops, np.int64), np.full(len(starts), number, np.int64)


def check_versions(keys: pa.LargeBinaryArray) -> None:
    for number in np.flatnonzero(_version_differs(keys))[:1].tolist():
        raise Malformed(number, "its key is not of version 1, the only one that there is")


def _version_differs(keys: pa.LargeBinaryArray) -> npt.NDArray[np.bool_]:
    heads = pa.compute.binary_slice(keys.cast(pa.binary()), 0, PREFIX)
    same = pa.compute.fill_null(pa.compute.equal(heads, pa.scalar(VERSION)), False)
    return ~np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)
