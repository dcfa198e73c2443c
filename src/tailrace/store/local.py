"""A folder as a store: hard links, renames and few flushes.

`publish` links, so that it never overwrites; `replace` renames a temporary file of `.tailrace/tmp`. Flushes are
collected: `settle` flushes the folders that were touched, or the whole filesystem at once where they are more than
a few (a thousand single flushes cost more than the rest of a commit).
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa

from tailrace.errors import SinkAway, SinkRefused, TailraceError
from tailrace.store.filesystem import OWN, Entry, Item, Result
from tailrace.store.folders import FolderListing

_FULL = {errno.ENOSPC, errno.EDQUOT}
_NEVER = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}
_SINGLE_FLUSHES = 4
_MOST_KNOWN = 16_384
_TMP = f"{OWN}/tmp"


class LocalStore:
    """`threads` above 1 is for a mount over a network, where waiting is what takes the time."""

    def __init__(self, root: str, threads: int = 1) -> None:
        self.requests = 0
        self._root = root.rstrip("/") or "/"
        self._threads = threads
        self._known: set[str] = set()
        self._touched: set[str] = set()
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        return f"folder {self._root}"

    def read(self, path: str) -> bytes | None:
        self.requests += 1
        with self._typed(path):
            try:
                with open(self._full(path), "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def listing(self) -> FolderListing:
        return FolderListing(self._root, lambda error: self.typed_error(error, ""))

    def part(self, path: str, offset: int, length: int) -> bytes:
        self.requests += 1
        with self._typed(path):
            try:
                with open(self._full(path), "rb") as file:
                    file.seek(offset)
                    return file.read(length)
            except FileNotFoundError:
                return b""

    def content(self, path: str) -> pa.Buffer | None:
        self.requests += 1
        with self._typed(path):
            try:
                if not os.path.getsize(self._full(path)):
                    return pa.py_buffer(b"")
                with pa.memory_map(self._full(path)) as file:
                    return file.read_buffer()
            except FileNotFoundError:
                return None

    def entry(self, path: str) -> Entry | None:
        with self._typed(path):
            try:
                found = os.stat(self._full(path))
            except FileNotFoundError:
                return None
            return Entry(path, found.st_size, found.st_mtime)

    def names(self, folder: str) -> list[str]:
        with self._typed(folder):
            return [entry.name for entry in self._scan(folder) if not entry.is_dir()]

    def sizes(self, folder: str) -> dict[str, int]:
        with self._typed(folder):
            return {entry.name: entry.stat().st_size for entry in self._scan(folder) if not entry.is_dir()}

    def folders(self, folder: str) -> list[str]:
        with self._typed(folder):
            return [entry.name for entry in self._scan(folder) if entry.is_dir()]

    def replace(self, files: Iterable[tuple[str, bytes]]) -> None:
        staged = [(self._temporary(path, data), path) for path, data in files]
        self._flush([temporary for temporary, _ in staged])
        for temporary, path in staged:
            with self._typed(path):
                self._folder_of(path)
                try:
                    os.rename(temporary, self._full(path))
                except FileNotFoundError:
                    self._folder_anew(path)
                    os.rename(temporary, self._full(path))
            self._touch(os.path.dirname(self._full(path)))

    def create(self, path: str) -> _LocalOutput:
        with self._typed(path):
            return _LocalOutput(self, path, self._created(path))

    def publish(self, source: str, target: str) -> bool:
        with self._typed(target):
            self._folder_of(target)
            try:
                os.link(self._full(source), self._full(target))
            except FileNotFoundError:
                return self._after_missing(source, target)
            except FileExistsError:
                self._take_over(source, target)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if not os.path.exists(self._full(source)):
                    return False
                self._rename(source, target)
            self._touch(os.path.dirname(self._full(target)))
            return True

    def remove(self, path: str) -> None:
        with self._typed(path):
            try:
                os.unlink(self._full(path))
            except FileNotFoundError:
                return
            self._touch(os.path.dirname(self._full(path)))

    def remove_folder(self, folder: str) -> None:
        """A task that still writes below it, of an attempt that nobody waits for, may keep the folder itself alive."""
        with self._lock:
            full = self._full(folder)
            self._known = {known for known in self._known if known != full and not known.startswith(full + "/")}
        shutil.rmtree(self._full(folder), ignore_errors=True)

    def remove_empty(self, folder: str) -> None:
        with self._lock:
            self._known.discard(self._full(folder))
        with self._typed(folder):
            try:
                os.rmdir(self._full(folder))
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise

    def settle(self) -> None:
        with self._lock:
            touched, self._touched = self._touched, set()
        self._flush(sorted(touched))

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        if self._threads == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self._threads, "tailrace-storage") as pool:
            return list(pool.map(work, items))

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._full(folder)) as entries:
                return list(entries)
        except FileNotFoundError:
            return []

    def _touch(self, *folders: str) -> None:
        with self._lock:
            self._touched.update(folders)

    def _folder_of(self, path: str) -> None:
        """Make the folder of a path; new levels need a flush of the level above them."""
        folder = os.path.dirname(self._full(path))
        if folder in self._known:
            return
        level = folder
        while not os.path.isdir(level):
            level = os.path.dirname(level)
            self._touch(level)
        os.makedirs(folder, exist_ok=True)
        with self._lock:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(folder)

    def _folder_anew(self, path: str) -> None:
        """A folder that was known is gone: a sweep or a cleanup removed it when it was empty."""
        with self._lock:
            self._known.discard(os.path.dirname(self._full(path)))
        self._folder_of(path)

    def _temporary(self, path: str, data: bytes) -> str:
        temporary = f"{_TMP}/{uuid.uuid4().hex}"
        with self._typed(path), self._created(temporary) as file:
            file.write(data)
        return self._full(temporary)

    def _created(self, path: str) -> BinaryIO:
        self._folder_of(path)
        try:
            return open(self._full(path), "xb")
        except FileNotFoundError:
            self._folder_anew(path)
            return open(self._full(path), "xb")

    def _after_missing(self, source: str, target: str) -> bool:
        """A link failed because something is missing: the source, or a folder that was known and is gone."""
        if not os.path.exists(self._full(source)):
            return False
        self._folder_anew(target)
        os.link(self._full(source), self._full(target))
        self._touch(os.path.dirname(self._full(target)))
        return True

    def _take_over(self, source: str, target: str) -> None:
        """The target exists: done already, an empty file that takes no number, or somebody else's."""
        if os.path.samefile(self._full(source), self._full(target)):
            return
        if os.path.getsize(self._full(target)):
            raise SinkRefused(
                f"{target} exists and is another file; nobody else may write below the prefix", position=self.place
            )
        os.rename(self._full(source), self._full(target))

    def _rename(self, source: str, target: str) -> None:
        """For filesystems without hard links: the check before is all that guards a file of others."""
        if os.path.exists(self._full(target)):
            self._take_over(source, target)
        else:
            os.rename(self._full(source), self._full(target))

    def _flush(self, paths: list[str]) -> None:
        with self._typed(""):
            if len(paths) > _SINGLE_FLUSHES and _flush_filesystem(self._root):
                return
            for path in paths:
                try:
                    handle = os.open(path, os.O_RDONLY)
                except FileNotFoundError:
                    continue
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    @contextmanager
    def _typed(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.typed_error(error, path) from error

    def typed_error(self, error: OSError, path: str) -> TailraceError:
        what = f"{path or 'the prefix'}: {error.strerror or error}"
        if error.errno in _FULL:
            return SinkAway(f"{self.place} is full ({what}); it needs more room", retry_after=5.0)
        if error.errno in _NEVER:
            return SinkRefused(f"{self.place} does not allow this ({what}); check rights, mount and name")
        return SinkAway(f"{self.place} does not answer ({what})")


class _LocalOutput:
    def __init__(self, store: LocalStore, path: str, file: BinaryIO) -> None:
        self._store = store
        self._path = path
        self._file = file

    def write(self, data: memoryview) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._store.typed_error(error, self._path) from error

    def close(self) -> None:
        try:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as error:
            raise self._store.typed_error(error, self._path) from error


_libc = ctypes.CDLL(None, use_errno=True)


def _flush_filesystem(root: str) -> bool:
    """Flush the filesystem of a folder at once; False where the system has no such call."""
    syncfs = getattr(_libc, "syncfs", None)
    if syncfs is None:
        return False
    handle = os.open(root, os.O_RDONLY)
    try:
        if syncfs(handle) != 0:
            raise OSError(ctypes.get_errno(), "the filesystem could not be flushed")
        return True
    finally:
        os.close(handle)
