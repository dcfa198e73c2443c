"""Codecs: how changes look outside. Pure functions of values; every room has `encode`, `decode` and its options.

A `FileEncoder` turns batches of one table into the bytes of a file; a `FileDecoder` turns a file back. A
`MessageEncoder` turns batches, DDL events and watermarks into the messages of a queue; a `MessageDecoder` turns them
back. For every batch, decode(encode(batch)) carries what the format carries. None of them loops over rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts


class FileEncoder(Protocol):
    @property
    def extension(self) -> str:
        """The ending of a data file's name, with its dot."""
        ...

    def header(self, table: TableSchema) -> bytes:
        """What stands before the first row of every file; often nothing."""
        ...

    def encode(self, batch: ChangeBatch) -> pa.Buffer:
        """The rows of a batch, each ended as the format ends rows. Raises EncodeError."""
        ...


class FileDecoder(Protocol):
    def decode(self, data: pa.Buffer, table: TableSchema, place: str) -> Iterator[ChangeBatch]:
        """The changes of a file's bytes; raises DecodeError with `place` (the file) and the row's number."""
        ...


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order of their changes, one entry each: a NULL key is no key, a NULL value a tombstone.

    `rows` is how many consecutive changes of the batch each message holds: 1 for the protocols that send every change
    by itself. Where it may be more, whoever encodes has taken the rows of one partition from the batch before.
    """

    keys: pa.LargeBinaryArray
    values: pa.LargeBinaryArray
    rows: pa.Int32Array


@dataclass(frozen=True, slots=True)
class Message:
    """One message by itself: a DDL or a watermark. None is no key, or a tombstone."""

    key: bytes | None
    value: bytes | None


class MessageEncoder(Protocol):
    @property
    def joins_rows(self) -> bool:
        """Whether one message may hold several changes, so that a batch has to be of one partition."""
        ...

    def encode(self, batch: ChangeBatch) -> Messages:
        """The changes of a batch, in order. Raises EncodeError, MessageTooLarge."""
        ...

    def ddl(self, event: DdlEvent) -> Message | None:
        """None where the protocol says nothing of a DDL, or not of this one."""
        ...

    def watermark(self, ts: Ts) -> Message | None:
        """`every change up to ts has been sent`; None where the protocol has no such message."""
        ...


@dataclass(frozen=True, slots=True)
class Watermark:
    """What a decoder found: every change up to `ts` was sent before, to this partition."""

    ts: Ts


Decoded = ChangeBatch | DdlEvent | Watermark


class MessageDecoder(Protocol):
    def decode(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray, places: Places) -> Iterator[Decoded]:
        """What the messages say, in their order; neighbours of one table version and rising commit ts are one batch.
        Raises DecodeError with the message's place and the row in it."""
        ...


class Places(Protocol):
    def of(self, message: int) -> str:
        """Where a message was read, for an error: topic, partition and offset, or a file and its line."""
        ...


class ClaimStore(Protocol):
    """Where messages too large for the queue are put, and found again by whoever reads the small one."""

    def put(self, names: Sequence[str], contents: pa.LargeBinaryArray) -> None: ...

    def get(self, name: str) -> bytes: ...
