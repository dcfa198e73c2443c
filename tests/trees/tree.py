"""A tree: one changefeed's whole output with what its tables must hold, as FORMAT describes it."""

from __future__ import annotations

import base64
import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.change.parse import parse_type
from tailrace.change.statement import parse_statement
from tailrace.change.types import ColumnType


@dataclass(frozen=True, slots=True)
class Tree:
    folder: Path

    @classmethod
    def below(cls, folder: Path) -> list[Tree]:
        """The tree that a folder is, or those in it."""
        if (folder / "uri.txt").is_file():
            return [cls(folder)]
        return [cls(each.parent) for each in sorted(folder.glob("*/uri.txt"))]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def storage(self) -> Path:
        return (self.folder / "storage").resolve()

    @property
    def config(self) -> Path:
        return self.folder / "changefeed.toml"

    @property
    def uri(self) -> str:
        return (self.folder / "uri.txt").read_text(encoding="utf-8").strip().replace("{path}", str(self.storage))

    @property
    def without_commit_ts(self) -> bool:
        said = tomllib.loads(self.config.read_text(encoding="utf-8")).get("sink", {})
        uri = self.uri
        if "protocol=csv" in uri or said.get("protocol") == "csv":
            return not said.get("csv", {}).get("include-commit-ts", False)
        return "enable-tidb-extension=true" not in uri

    def expected(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))
        return found


@dataclass(frozen=True, slots=True)
class ExpectedTable:
    """A table as it must be: columns that a target holds, and the rows as values that compare."""

    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[ColumnType, ...]
    rows: Counter[tuple[Any, ...]]

    @classmethod
    def of(cls, said: dict[str, Any]) -> ExpectedTable:
        texts = {column.name: column.type for column in parse_statement(said["create"]).columns}
        virtual = set(said.get("virtual", ()))
        kept = [(at, name) for at, name in enumerate(said["columns"]) if name not in virtual]
        types = tuple(parse_type(texts[name]) for _, name in kept)
        rows = Counter(
            tuple(expected_value(row[at], kind) for (at, _), kind in zip(kept, types, strict=True))
            for row in said["rows"]
        )
        return cls(said["schema"], said["table"], tuple(name for _, name in kept), types, rows)


def expected_value(value: Any, kind: ColumnType) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return base64.b64decode(value["base64"]) if "base64" in value else value["text"]
    return comparable(value, kind)


def comparable(value: Any, kind: ColumnType) -> Any:
    """A value of the expected text or of a target, as one that is equal where the type says so."""
    if value is None:
        return None
    if kind.is_integer or kind.name in ("bit", "year"):
        return int(value)
    if kind.name == "float":
        return float(np.float32(value))
    if kind.name == "double":
        return float(value)
    if kind.name == "json":
        return json.dumps(json.loads(value), sort_keys=True)
    if kind.name == "enum" and isinstance(value, int):
        return kind.elems[value - 1] if value else ""
    if kind.name == "set" and isinstance(value, int):
        return ",".join(each for at, each in enumerate(kind.elems) if value >> at & 1)
    return bytes(value) if kind.is_binary else str(value)
