"""The place of a folder: its filesystem and its prefix, from a URI as a changefeed has it, or a plain path.

Reading only. A worker process keeps one client for each place. Messages name the place without its secrets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from tailrace.config import ObjectStore, SinkConfig, load_changefeed, masked_uri
from tailrace.errors import ConfigError, NotFound, UpstreamAway
from tailrace.store.clients import connect

_THREADS = 16
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Found:
    """A file below the place: its path there, its size, and when it was written."""

    path: str
    size: int
    modified: int


class Place:
    """`name` is for messages; `root` is what the client knows the prefix by."""

    def __init__(self, name: str, client: pafs.FileSystem, root: str) -> None:
        self.name = name
        self._client = client
        self._root = root.rstrip("/")

    def files(self, folder: str) -> list[Found]:
        """All files below a folder, however deep; none where it is not there."""
        selector = pafs.FileSelector(self._full(folder), recursive=True, allow_not_found=True)
        found = self._asked(folder, lambda: self._client.get_file_info(selector))
        cut = len(self._root) + 1
        return [
            Found(info.path[cut:], int(info.size), info.mtime_ns or 0)
            for info in found
            if info.type == pafs.FileType.File
        ]

    def folders(self, folder: str) -> list[str]:
        """The names of the folders directly in a folder."""
        selector = pafs.FileSelector(self._full(folder), allow_not_found=True)
        found = self._asked(folder, lambda: self._client.get_file_info(selector))
        return sorted(info.base_name for info in found if info.type == pafs.FileType.Directory)

    def read(self, path: str) -> bytes | None:
        """The whole file; None where there is none."""
        try:
            with self._client.open_input_file(self._full(path)) as file:
                return bytes(file.readall())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._away(path, error) from None

    def part(self, path: str, begin: int, end: int) -> pa.Buffer:
        """The bytes from `begin` up to `end` of a file that was listed."""

        def work() -> pa.Buffer:
            with self._client.open_input_file(self._full(path)) as file:
                file.seek(begin)
                return file.read_buffer(end - begin)

        return self._asked(path, work)

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The results in order; several at once, since waiting is what takes the time."""
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(work, items))

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _asked(self, path: str, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except FileNotFoundError:
            raise NotFound(f"{self.name} had the file {path}, and has it no more", position=path) from None
        except OSError as error:
            raise self._away(path, error) from None

    def _away(self, path: str, error: OSError) -> UpstreamAway:
        return UpstreamAway(
            f"{self.name} cannot be read at {path or 'its root'}: {type(error).__name__}", position=path
        )


@functools.lru_cache(maxsize=64)
def sink_config(uri: str, toml: str) -> SinkConfig:
    """What a changefeed's URI and TOML say of its files. Without a protocol anywhere it is csv."""
    full = f"file://{Path(uri).absolute()}" if "://" not in uri else uri
    try:
        return load_changefeed(full, toml).sink
    except ConfigError as wrong:
        if "protocol" in full or "protocol" in toml:
            raise ConfigError(f"{masked_uri(full)}: {wrong.message}") from wrong
    return load_changefeed(f"{full}{'&' if '?' in full else '?'}protocol=csv", toml).sink


@functools.lru_cache(maxsize=64)
def place_of(uri: str, toml: str) -> Place:
    storage = sink_config(uri, toml).storage
    if storage is None:
        raise ConfigError(f"{masked_uri(uri)} is no folder or bucket")
    name = masked_uri(uri).partition("?")[0]
    return Place(name, *_client(storage.store))


def _client(target: ObjectStore) -> tuple[pafs.FileSystem, str]:
    if not target.bucket:
        return pafs.LocalFileSystem(), target.prefix
    return connect(target), f"{target.bucket}/{target.prefix.strip('/')}"
