"""A bucket as a store, through `pyarrow.fs`: S3 and what speaks like it, Google Cloud Storage, Azure Blob Storage.

A put is all or nothing and lasting, so nothing has to be flushed; a staged file gets its name by a copy inside the
store. Waiting is what takes the time, so `each` makes many requests at once. Every request has a deadline, and so have
many of them together.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from tailrace.errors import SinkAway, SinkRefused, TailraceError
from tailrace.store.deadline import within
from tailrace.store.filesystem import OWN, Entry, Item, Result
from tailrace.store.waves import Waves

# 1,000 tables are two waves of 1,000 requests a cut: at 30 ms each, 16 threads would take 6 seconds.
THREADS = 64
WAVE_SECONDS = 240.0
_READS = 10
_PAGE_KEYS = 1000
_REFUSED = (
    ("ACCESS_DENIED", "access is denied; check the key and its rights"),
    ("ACCESSDENIED", "access is denied; check the key and its rights"),
    ("FORBIDDEN", "access is denied; check the key and its rights"),
    ("HTTP STATUS 403", "access is denied; check the key and its rights"),
    ("INVALID_ACCESS_KEY", "the access key is not known there"),
    ("INVALIDACCESSKEY", "the access key is not known there"),
    ("ACCESS KEY ID", "the access key is not known there"),
    ("SIGNATURE_DOES_NOT_MATCH", "the secret key is not the one of the access key"),
    ("SIGNATUREDOESNOTMATCH", "the secret key is not the one of the access key"),
    ("UNAUTHENTICATED", "the credentials are not accepted"),
    ("PERMISSION DENIED", "access is denied; check the credentials and their rights"),
    ("NO_SUCH_BUCKET", "the bucket does not exist"),
    ("NOSUCHBUCKET", "the bucket does not exist"),
    ("BUCKET DOES NOT EXIST", "the bucket does not exist"),
    ("CONTAINERNOTFOUND", "the container does not exist"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """How clients differ. One that is `flat` lists objects only: that there are folders has to be seen from the names
    below them. One that puts `in_steps` empties what it writes over first, so whole files get their names by a copy.
    `seconds` are a request's deadline where the client keeps none by itself."""

    flat: bool = False
    in_steps: bool = False
    seconds: float = 0.0


class Bucket:
    """`root` is the bucket and the prefix; `secrets` are values that no message may show.

    `kind` is what has to be known of the client.
    """

    def __init__(
        self, client: pafs.FileSystem, root: str, place: str, secrets: tuple[str, ...] = (), kind: Kind | None = None
    ) -> None:
        self._client = client
        self._kind = kind or Kind()
        self._root = root.rstrip("/")
        self._place = place
        self._secrets = secrets
        self.requests = 0
        self._waves = Waves(THREADS, WAVE_SECONDS, place)

    @property
    def place(self) -> str:
        return self._place

    @property
    def flat(self) -> bool:
        return self._kind.flat

    def read(self, path: str) -> bytes | None:
        def work() -> bytes | None:
            try:
                return self._read(path, lambda file: bytes(file.readall()))
            except FileNotFoundError:
                return None

        return self._asked(path, work)

    def listing(self) -> BucketListing:
        return BucketListing(self)

    def part(self, path: str, offset: int, length: int) -> bytes:
        def work() -> bytes:
            try:
                return self._read(path, lambda file: bytes(file.read_at(length, offset)))
            except FileNotFoundError:
                return b""

        return self._asked(path, work)

    def content(self, path: str) -> pa.Buffer | None:
        found = self.read(path)
        return None if found is None else pa.py_buffer(found)

    def below(self, folder: str) -> list[tuple[str, int]]:
        """Path and size of every file below a folder."""
        selector = pafs.FileSelector(self._full(folder), recursive=True, allow_not_found=True)
        found = self._asked(folder, lambda: self._client.get_file_info(selector))
        self.requests += len(found) // _PAGE_KEYS
        cut = len(self._root) + 1
        return [(info.path[cut:], info.size) for info in found if info.type == pafs.FileType.File]

    def entry(self, path: str) -> Entry | None:
        info = self._asked(path, lambda: self._client.get_file_info(self._full(path)))
        if info.type != pafs.FileType.File:
            return None
        return Entry(path, info.size, info.mtime.timestamp())

    def names(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        return {info.base_name: info.size for info in self._listed(folder) if info.type == pafs.FileType.File}

    def folders(self, folder: str) -> list[str]:
        if self._kind.flat:
            start = len(self._full(folder)) + 1
            below = (info.path[start:].partition("/") for info in self._listed(folder, recursive=True))
            return sorted({name for name, mark, _ in below if mark})
        return [info.base_name for info in self._listed(folder) if info.type == pafs.FileType.Directory]

    def replace(self, files: Iterable[tuple[str, bytes]]) -> None:
        if not self._kind.in_steps:
            self.each(lambda file: self._put(*file), files)
            return
        folder = f"{OWN}/tmp/{uuid.uuid4().hex}"
        made = [(f"{folder}/{at}", path, data) for at, (path, data) in enumerate(files)]
        self.each(lambda file: self._put(file[0], file[2]), made)
        self.each(lambda file: self.publish(file[0], file[1]), made)
        self.remove_folder(folder)

    def create(self, path: str) -> _BucketOutput:
        try:
            stream = self._asked(path, lambda: self._client.open_output_stream(self._full(path)))
        except FileNotFoundError as error:
            raise self.typed_error(error, path) from error
        return _BucketOutput(self, path, stream)

    def publish(self, source: str, target: str) -> bool:
        """The source stays, so that a copy that broke off is simply made again."""
        try:
            self.timed(lambda: self._client.copy_file(self._full(source), self._full(target)))
        except OSError as error:
            if self.entry(source) is None:
                return False
            raise self.typed_error(error, target) from error
        return True

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._asked(path, lambda: self._client.delete_file(self._full(path)))

    def remove_folder(self, folder: str) -> None:
        if self._kind.flat:
            self._asked(folder, lambda: self._client.delete_dir_contents(self._full(folder), missing_dir_ok=True))
            return
        with suppress(FileNotFoundError):
            try:
                self.timed(lambda: self._client.delete_dir(self._full(folder)))
            except FileNotFoundError:
                raise
            except OSError:
                # A bulk delete may leave some keys behind and say so; what is left goes the second time.
                self._asked(folder, lambda: self._client.delete_dir(self._full(folder)))

    def remove_empty(self, folder: str) -> None:
        """A bucket has no folders, only names."""

    def settle(self) -> None:
        """Every answered request lasts."""

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        return self._waves.run(work, items)

    def typed_error(self, error: OSError, path: str) -> TailraceError:
        said = str(error)
        for secret in self._secrets:
            said = said.replace(secret, "******")
        what = f"{path or 'the prefix'}: {said}"
        if isinstance(error, FileNotFoundError):
            # What is written needs nothing to be there but the bucket itself.
            return SinkRefused(f"{self._place}: the bucket does not exist ({what})")
        for mark, meaning in _REFUSED:
            if mark in said.upper():
                return SinkRefused(f"{self._place}: {meaning} ({what})")
        return SinkAway(f"{self._place} does not answer ({what})")

    def timed(self, work: Callable[[], Result]) -> Result:
        """One request to the client, with a deadline."""
        return within(self._kind.seconds, work) if self._kind.seconds else work()

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _read(self, path: str, take: Callable[[pa.NativeFile], bytes]) -> bytes:
        for _ in range(_READS):
            # Google's client reads one generation of an object, and closes itself when that was written over.
            with suppress(ValueError), self._client.open_input_file(self._full(path)) as file:
                return take(file)
        raise OSError(f"it was written over {_READS} times while it was read")

    def _put(self, path: str, data: bytes) -> None:
        output = self.create(path)
        output.write(memoryview(data))
        output.close()

    def _listed(self, folder: str, recursive: bool = False) -> list[pafs.FileInfo]:
        selector = pafs.FileSelector(self._full(folder), allow_not_found=True, recursive=recursive)
        listed: list[pafs.FileInfo] = self._asked(folder, lambda: self._client.get_file_info(selector))
        return listed

    def _asked(self, path: str, work: Callable[[], Result]) -> Result:
        self.requests += 1
        try:
            return self.timed(work)
        except FileNotFoundError as error:
            if any(mark in str(error).upper() for mark, _ in _REFUSED):
                raise self.typed_error(error, path) from error
            raise
        except OSError as error:
            raise self.typed_error(error, path) from error


class _BucketOutput:
    def __init__(self, bucket: Bucket, path: str, stream: pa.NativeFile) -> None:
        self._bucket = bucket
        self._path = path
        self._stream = stream

    def write(self, data: memoryview) -> None:
        try:
            self._bucket.timed(lambda: self._stream.write(data))
        except OSError as error:
            raise self._bucket.typed_error(error, self._path) from error

    def close(self) -> None:
        try:
            self._bucket.timed(self._stream.close)
        except OSError as error:
            raise self._bucket.typed_error(error, self._path) from error


class BucketListing:
    """A bucket says nothing of what changed, so every round lists all, a thousand names a request; the folders right
    below the prefix are listed at the same time."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._known: dict[str, int] = {}
        self.requests = 0

    def round(self) -> list[tuple[str, int]]:
        found = self._flat() if self._bucket.flat else self._by_folder()
        known, self._known = self._known, dict(found)
        return [(path, size) for path, size in found if known.get(path) != size]

    def _by_folder(self) -> list[tuple[str, int]]:
        top = [name for name in self._bucket.folders("") if name != OWN]
        beside = [(name, size) for name, size in self._bucket.sizes("").items()]
        return [entry for entries in [beside, *self._bucket.each(self._bucket.below, top)] for entry in entries]

    def _flat(self) -> list[tuple[str, int]]:
        """Finding out which folders there are would list everything already."""
        return [(path, size) for path, size in self._bucket.below("") if not path.startswith(f"{OWN}/")]
