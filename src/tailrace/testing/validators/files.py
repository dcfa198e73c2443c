"""Files: what a folder of TiCDC's layout must look like whenever somebody looks.

Data files are numbered from 1 without a gap and none is empty; a file that was seen stays as it was; an index names a
file that is there. It looks at names and sizes only: what is inside belongs to the other validators.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tailrace.testing.reader.listing import DataFile, Listing, gaps
from tailrace.testing.validators.base import Finding


class FilesHold:
    """`expires`: old files may be removed by a cleanup."""

    rule = "files"

    def __init__(self, expires: bool = False) -> None:
        self._expires = expires
        self._sizes: dict[str, int] = {}

    def look(self, found: Listing, indexes: dict[str, str]) -> list[Finding]:
        """What is wrong stays wrong at the next look. `indexes` are folders, and the file names that their indexes
        held before the listing was made."""
        sizes = {file.path: file.size for file in found.files}
        sentences = [*gaps(found.files), *self._changed(sizes), *_unkept(found.files, indexes)]
        if not sentences:
            self._sizes = sizes
        return [Finding(self.rule, *_place_first(sentence)) for sentence in sentences]

    def _changed(self, sizes: dict[str, int]) -> Iterator[str]:
        for path, size in self._sizes.items():
            if path in sizes and sizes[path] != size:
                yield f"{path}: has {sizes[path]} bytes, it had {size} when it became visible"
            elif path not in sizes and not self._expires:
                yield f"{path}: is gone"


def _unkept(files: tuple[DataFile, ...], indexes: dict[str, str]) -> Iterator[str]:
    for folder, group in groupby(files, lambda file: file.path.rpartition("/")[0]):
        names = {file.path.rpartition("/")[2] for file in group}
        said = indexes.get(folder)
        if said and said not in names:
            yield f"{folder}: its index names {said}, which is not there"


def _place_first(sentence: str) -> tuple[str, str]:
    place, _, message = sentence.rpartition(": ")
    return place, message
