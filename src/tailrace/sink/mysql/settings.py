"""What the database sink takes from its URI: the target, and where pieces are staged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailrace.config import zone_named
from tailrace.config.uri import SinkUri, parse_uri
from tailrace.errors import ConfigError
from tailrace.sink.base import SinkSpec
from tailrace.sink.mysql.sqlite.database import SqliteTarget
from tailrace.sink.mysql.staging import Stage
from tailrace.sink.mysql.target import Target


@dataclass(frozen=True, slots=True)
class Settings:
    """`target` opens the database; nothing is asked of it before."""

    target: Callable[[], Target]
    stage: Stage


def load_settings(spec: SinkSpec) -> Settings:
    uri = parse_uri(spec.uri)
    if uri.scheme != "sqlite":
        raise ConfigError(f"the sink URI's scheme is {uri.scheme}; a database sink's is sqlite")
    uri.refuse_others(("stage",))
    file = sqlite_file(uri)
    beside = uri.text("stage") or f"{file}-tailrace/stage"
    zone = zone_named(spec.time_zone)
    return Settings(lambda: SqliteTarget(file, spec.subscription, zone), Stage(Path(beside) / spec.subscription))


def sqlite_file(uri: SinkUri) -> Path:
    """The database file of `sqlite:///FILE`; with four slashes the path is absolute, as elsewhere."""
    name = uri.path.removeprefix("/")
    if uri.authority or not name:
        raise ConfigError("a sqlite:// URI names a file, as sqlite:///relative.db or sqlite:////absolute/path.db")
    return Path(name).absolute()
