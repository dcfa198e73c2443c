"""Paths: where the files of TiCDC's storage layout lie, relative to the prefix of the sink. Pure.

    <schema>/<table>/<version>[/<partition id>][/<date>]/CDC<number><extension>
    ...the same folder.../meta/CDC.index
    <schema>[/<table>]/meta/schema_<version>_<checksum>.json
    metadata

The date is the *commit* date in the subscription's time zone, so the folder of a row depends on nothing but the row.
It never falls as the commit ts rises, not even where the clock goes back over midnight. Names stand in paths as they
are; one that would leave its folder is refused, never changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from tailrace.change.tso import Ts, compose, moment
from tailrace.errors import SinkRefused
from tailrace.store.filesystem import OWN

METADATA = "metadata"

DateSeparator = Literal["none", "year", "month", "day"]

_FORMATS = {"none": "", "year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
_FEWEST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of one changefeed's paths. `digits` is the width of file numbers; larger ones grow wider."""

    extension: str
    date_separator: DateSeparator = "day"
    partition_separator: bool = True
    digits: int = 20
    zone: tzinfo = UTC

    def date_of(self, ts: Ts) -> str:
        """The date level of a commit ts; empty where there is none."""
        form = _FORMATS[self.date_separator]
        return self._day(ts).strftime(form) if form else ""

    def date_ends(self, ts: Ts) -> Ts | None:
        """The first ts of the date level after that of `ts`; None where files are not divided by date."""
        day = self._day(ts)
        following = {
            "none": None,
            "year": date(day.year + 1, 1, 1),
            "month": (day.replace(day=1) + timedelta(days=31)).replace(day=1),
            "day": day + timedelta(days=1),
        }[self.date_separator]
        return None if following is None else self._begin(following)

    def folder(self, schema: str, table: str, version: Ts, partition_id: int, date_level: str) -> str:
        """The data folder; `partition_id` is 0 for a table without partitions."""
        levels = [table_folder(schema, table), str(version)]
        if self.partition_separator and partition_id:
            levels.append(str(partition_id))
        return "/".join([*levels, date_level] if date_level else levels)

    def data_name(self, number: int) -> str:
        return f"CDC{number:0{self.digits}d}{self.extension}"

    def number_of(self, name: str) -> int | None:
        """The number of a data file of exactly this layout's width and extension; None for any other name."""
        found = re.fullmatch(r"CDC(\d+)" + re.escape(self.extension), name, re.ASCII)
        if found is None or self.data_name(int(found[1])) != name:
            return None
        return int(found[1])

    def indexed_number(self, text: str, place: str) -> int:
        """The number that an index file's content names, in any width; raises SinkRefused for anything else."""
        name = text.removesuffix("\n")
        digits = name.removeprefix("CDC").removesuffix(self.extension)
        wanted = len(digits) >= _FEWEST_DIGITS and digits.isascii() and digits.isdigit()
        if not wanted or name != f"CDC{digits}{self.extension}":
            raise SinkRefused(
                f"the index file holds {name[:80]!r}; it should name a data file such as {self.data_name(1)}",
                position=place,
            )
        return int(digits)

    def _day(self, ts: Ts) -> date:
        """The last day that has begun: where the clock goes back over midnight, the new day goes on."""
        shown = moment(ts, self.zone).date()
        following = shown + timedelta(days=1)
        return following if ts >= self._begin(following) else shown

    def _begin(self, day: date) -> Ts:
        """The first ts at which the clock shows this day or a later one."""
        return compose(round(datetime.combine(day, time(), self.zone).timestamp() * 1000))


def index_path(folder: str) -> str:
    return f"{folder}/meta/CDC.index"


def table_folder(schema: str, table: str) -> str:
    """`<schema>/<table>`; raises SinkRefused for a name that is no path element."""
    return f"{database_folder(schema)}/{_element(table, f'{schema}.{table}')}"


def database_folder(schema: str) -> str:
    if schema in (OWN, METADATA):
        raise SinkRefused(f"a schema named {schema!r} would lie where this sink keeps its own files", table=schema)
    return _element(schema, schema)


def _element(name: str, full_name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise SinkRefused(
            f"the name {name!r} cannot be a folder; it must not be empty, '.' or '..', nor hold '/' or NUL",
            table=full_name,
        )
    return name
