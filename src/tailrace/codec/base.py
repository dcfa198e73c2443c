"""Codecs: how changes look outside. Pure functions of values; every room has `encode`, `decode` and its options.

A `FileEncoder` turns batches of one table into the bytes of a file; a `FileDecoder` turns a file back. For every
batch, decode(encode(batch)) carries what the format carries. Neither loops over rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema


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
