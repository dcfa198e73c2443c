"""Namings: everything that a commit is about to do, as a text that the ledger keeps.

Once it is saved, it and nothing else is what happens: the same staged files get the same names, however often it is
replayed and by whom. It holds whole paths and contents, so that replaying needs no configuration, no schema and no
listing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tailrace.errors import DecodeError
from tailrace.sink.storage.paths import index_path


@dataclass(frozen=True, slots=True)
class Move:
    """A staged file and the name that it gets in its folder; size and checksum tell it when its source is gone."""

    source: str
    name: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class FolderMoves:
    """The moves of one data folder, ascending; `last_number` is the number of the last of them."""

    folder: str
    last_number: int
    moves: tuple[Move, ...]

    @property
    def index(self) -> tuple[str, bytes]:
        """Path and content of the index file once all of them are done."""
        return index_path(self.folder), f"{self.moves[-1].name}\n".encode()


@dataclass(frozen=True, slots=True)
class Naming:
    """`schemas` are paths and contents of schema files that have to be there before the data."""

    schemas: tuple[tuple[str, str], ...]
    folders: tuple[FolderMoves, ...]

    @property
    def stages(self) -> set[str]:
        """The folders of the staged files."""
        return {move.source.rpartition("/")[0] for folder in self.folders for move in folder.moves}

    def to_json(self) -> str:
        folders = [
            [each.folder, each.last_number, [[m.source, m.name, m.size, m.checksum] for m in each.moves]]
            for each in self.folders
        ]
        return json.dumps({"schemas": self.schemas, "folders": folders}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Naming:
        """Raises DecodeError for a text that `to_json` did not write."""
        try:
            fields = json.loads(text)
            schemas = tuple((str(path), str(content)) for path, content in fields["schemas"])
            folders = tuple(
                FolderMoves(str(folder), int(last), tuple(Move(*move) for move in moves))
                for folder, last, moves in fields["folders"]
            )
            return cls(schemas, folders)
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeError(f"a saved naming cannot be read ({error}); it should be what to_json wrote") from error
