"""The cells of many rows at once: where in the text each column's value begins and ends.

Every quote that is not escaped ends or begins a string, and a string before a colon is a column's name. From that,
and from what stands between one cell and the next, follows where each value is; nothing is copied yet. A row whose
text is not exactly cells in the encoder's layout is named as odd, and no place of it may be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.codec.binary import spans
from tailrace.codec.unescape import escaping

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]
MISSING, NULL, TEXT = 0, 1, 2
_BETWEEN = b'}],"data":[{'


@dataclass(frozen=True, slots=True)
class Images:
    """The cells of some images, by column, then image. `kinds` says what is there; `escaped` numbers the cells, column
    by column, that hold a backslash."""

    starts: npt.NDArray[Any]
    ends: npt.NDArray[Any]
    kinds: npt.NDArray[Any]
    escaped: npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """`data` of every row and `old` of the updates, as places in `text`; `odd` rows are not to be believed."""

    text: Bytes
    data: Images
    old: Images
    odd: Flags


def cells_of(text: Bytes, offsets: Places, updates: Flags, names: Sequence[bytes]) -> Cells:
    """`text` holds the cells of each row between its offsets, and after all of them 16 bytes of padding."""
    length, rows = int(offsets[-1]), len(offsets) - 1
    opens, closes, slashes, odd = _strings(text, length, offsets)
    is_name = text[closes + 1] == ord(":")
    token = np.flatnonzero(is_name)
    name_at, name_end = opens[token], closes[token]
    lead = text[name_end + 2]
    is_text, is_null, is_list = lead == ord('"'), lead == ord("n"), lead == ord("[")
    value = np.minimum(token + 1, len(opens) - 1)
    ends = np.where(is_text, closes[value], name_end + 5)  # the last byte of the value
    owner = np.searchsorted(offsets, name_at, "right") - 1
    bad = ~(is_text | is_null | is_list) | (is_text & (value == token))
    bad |= is_null & ~_stands(text, name_end + 2, b"null", is_null)
    bad |= is_list & (~_stands(text, name_at - 3, _BETWEEN, is_list) | ~updates[owner])
    bad |= _wrong_links(text, offsets, owner, name_at, np.where(is_list, name_end + 3, ends), is_list)
    odd[owner[bad]] = True
    lists = np.bincount(owner[is_list], minlength=rows)
    odd |= lists != updates
    odd |= (np.bincount(owner, minlength=rows) == 0) & (np.diff(offsets) > 0)
    kinds = np.where(is_null, NULL, TEXT).astype(np.uint8)
    spots = (np.where(is_null, 0, name_end + 3), np.where(is_null, 0, ends), kinds, _holding(slashes, name_at))
    is_old = updates[owner] & (np.cumsum(is_list) - (np.cumsum(lists) - lists)[owner] == 0)
    data_rows = np.arange(rows)
    filler = _Filler(text, names, name_at, name_end, spots)
    data = filler.images(np.flatnonzero(~is_old & ~is_list), owner, data_rows, odd)
    numbers = np.cumsum(updates) - 1
    old = filler.images(np.flatnonzero(is_old & ~is_list), numbers[owner], np.flatnonzero(updates), odd)
    return Cells(text, data, old, odd)


def _strings(text: Bytes, length: int, offsets: Places) -> tuple[Places, Places, Places, Flags]:
    """Where strings begin and end, where escapes begin, and the rows whose quotes do not pair up."""
    body = text[:length]
    quotes: Places = np.flatnonzero(body == ord('"'))
    slashes = escaping(np.flatnonzero(body == ord("\\")), np.zeros(0, np.int64))
    if len(slashes):
        escaped = np.zeros(length + 1, np.bool_)
        escaped[slashes + 1] = True
        quotes = quotes[~escaped[quotes]]
    before = np.searchsorted(quotes, offsets)
    odd: Flags = np.diff(before) % 2 > 0
    if odd.any():  # what follows may only see rows whose quotes pair up
        kept = np.repeat(~odd, np.diff(before))
        quotes = quotes[kept]
    return quotes[0::2], quotes[1::2], slashes, odd


def _stands(text: Bytes, at: Places, literal: bytes, where: Flags) -> Flags:
    """Whether the literal is at each place where that is asked; elsewhere the answer means nothing."""
    chosen = np.flatnonzero(where)
    good = at[chosen] >= 0
    for shift, byte in enumerate(literal):
        good &= text[np.minimum(at[chosen] + shift, len(text) - 1)] == byte
    answer = np.zeros(len(at), np.bool_)
    answer[chosen] = good
    return answer


def _wrong_links(text: Bytes, offsets: Places, owner: Places, name_at: Places, ends: Places, is_list: Flags) -> Flags:
    """Which names do not stand where the cell before them, or the row, says that the next one begins."""
    if not len(name_at):
        return np.zeros(0, np.bool_)
    first = np.append(True, owner[1:] != owner[:-1])
    last = np.append(first[1:], True)
    want = np.empty(len(name_at), name_at.dtype)
    want[0] = 0
    comma = text[np.minimum(ends + 1, len(text) - 1)] == ord(",")
    after_list = np.append(False, is_list[:-1])
    want[1:] = ends[:-1] + 2
    want = np.where(after_list, want - 1, want)
    want = np.where(is_list, want + 2, want)
    begin = offsets[owner]
    want = np.where(first, np.where(is_list, begin + 3, begin), want)
    linked = first | is_list | after_list | np.append(True, comma[:-1])
    wrong: Flags = (name_at != want) | ~linked
    wrong |= last & (ends + 1 != offsets[owner + 1])
    return wrong


def _holding(slashes: Places, name_at: Places) -> Flags:
    """Which cells hold an escape, be it in their name."""
    held = np.zeros(len(name_at), np.bool_)
    if len(slashes) and len(name_at):
        held[np.maximum(np.searchsorted(name_at, slashes, "right") - 1, 0)] = True
    return held


class _Filler:
    """Cells, in the order of the text, to images by column."""

    def __init__(
        self,
        text: Bytes,
        names: Sequence[bytes],
        name_at: Places,
        name_end: Places,
        spots: tuple[npt.NDArray[Any], ...],
    ) -> None:
        self._text = text
        self._names = names
        self._name_at = name_at
        self._name_end = name_end
        self._spots = spots

    def images(self, cells: Places, image_of: Places, rows: Places, odd: Flags) -> Images:
        """The images that these cells make up; `rows` says of which row each image is."""
        shape = (len(self._names), len(rows))
        if len(cells) == shape[0] * shape[1] and self._in_order(cells, image_of):
            return Images(*(np.ascontiguousarray(each[cells].reshape(shape[::-1]).T) for each in self._spots))
        column = self._columns(cells)
        image = image_of[cells]
        place = column * shape[1] + image
        unknown = column < 0
        twice = np.bincount(place[~unknown], minlength=shape[0] * shape[1]).reshape(shape) > 1
        odd[rows[twice.any(axis=0)]] = True
        odd[rows[image[unknown]]] = True
        filled = []
        for each in self._spots:
            whole = np.zeros(shape[0] * shape[1], each.dtype)
            whole[place[~unknown]] = each[cells[~unknown]]
            filled.append(whole.reshape(shape))
        return Images(*filled)

    def _in_order(self, cells: Places, image_of: Places) -> bool:
        """Whether every image has all columns, in the order of the table."""
        columns = len(self._names)
        if not np.array_equal(image_of[cells[::columns]], image_of[cells[columns - 1 :: columns]]):
            return False
        images = image_of[cells[::columns]]
        if len(images) > 1 and not (np.diff(images) == 1).all():
            return False
        begins, ends = self._name_at[cells], self._name_end[cells]
        for at, name in enumerate(self._names):
            begin, end = begins[at::columns], ends[at::columns]
            if not (end - begin + 1 == len(name)).all():
                return False
            if not pc.all(pc.equal(spans(begin, end + 1, self._text), pa.scalar(name))).as_py():
                return False
        return True

    def _columns(self, cells: Places) -> Places:
        found = spans(self._name_at[cells], self._name_end[cells] + 1, self._text)
        numbers = pc.index_in(found, value_set=pa.array(self._names, pa.binary()))
        columns: Places = pc.fill_null(numbers, -1).to_numpy().astype(np.int64)
        return columns
