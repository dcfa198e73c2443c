"""The StorageReader: what is new in a folder or bucket, round after round, and up to which ts it is complete.

The checkpoint is read before the files are listed, so whatever it covers is in the same round. Guarantees: each schema
file and each data file is exposed once (again only where its size changed), the checkpoint never falls, and what a
writer may still be writing is marked as such by the checkpoint: a file that holds a row up to it is whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import DecodeError
from tailrace.store.filesystem import OWN, ReadableStore
from tailrace.upstream.storage.paths import DataFile, PathForm, SchemaPath

METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Exposed:
    """One round: the checkpoint (0: there is none yet), and what was not there in the rounds before."""

    checkpoint: Ts
    schemas: tuple[SchemaPath, ...]
    files: tuple[DataFile, ...]


class StorageReader:
    """`ours` says that Tailrace wrote the folder: then `metadata` covers DDLs of exactly its ts too."""

    def __init__(self, store: ReadableStore, form: PathForm) -> None:
        self._store = store
        self._form = form
        self._listing = store.listing()
        self._listed: list[tuple[str, int]] = []
        self.ours = OWN in store.folders("")
        self.checkpoint: Ts = 0
        self.requests = 0

    def expose(self) -> Exposed:
        """Raises DecodeError for a `metadata` that cannot be read, or a data file in no place of the layout."""
        self.checkpoint = max(self.checkpoint, self._checkpoint())
        self._listed += self._listing.round()
        self.requests = self._listing.requests
        found = [self._form.read(path, size) for path, size in self._listed]
        # Only now: what could not be read is in the next round too.
        self._listed = []
        schemas = tuple(each for each in found if isinstance(each, SchemaPath))
        files = tuple(each for each in found if isinstance(each, DataFile))
        return Exposed(self.checkpoint, schemas, files)

    def _checkpoint(self) -> Ts:
        text = self._store.read(METADATA)
        if text is None:
            return 0
        try:
            found = int(json.loads(text)["checkpoint-ts"])
        except (ValueError, KeyError, TypeError) as wrong:
            raise DecodeError(
                f'it holds {text[:80]!r}; it should be {{"checkpoint-ts":...}}', position=METADATA
            ) from wrong
        if not 0 <= found <= MAX_TS:
            raise DecodeError(f"its checkpoint-ts is {found}; it should be from 0 to 2^63-1", position=METADATA)
        return found
