"""Reports: the newest of each subscription, in the meta database, so that every server can answer `status`.

For people to read: nothing is decided by a report. Only the owner of the newest epoch writes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from sqlalchemy import and_, bindparam, exists, select, update

from tailrace.pipeline.assignment import Report
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import report, subscription

_FIELDS = tuple(field.name for field in fields(Report))


@dataclass(frozen=True, slots=True)
class AgedReport:
    """A report, and how long ago it was made by the meta database's clock."""

    report: Report
    age_seconds: float


class Reports:
    """The reports of one cluster. Safe to share between threads."""

    def __init__(self, meta: MetaDatabase, cluster_id: int) -> None:
        self._meta = meta
        self._cluster_id = cluster_id

    def save(self, made: Mapping[tuple[str, int], Report]) -> None:
        """Save what the owners of (name, epoch) say, in one transaction."""
        owner = and_(
            subscription.c.cluster_id == self._cluster_id,
            subscription.c.name == bindparam("of"),
            subscription.c.epoch == bindparam("under"),
        )
        mine = and_(report.c.cluster_id == self._cluster_id, report.c.subscribe_name == bindparam("of"))
        values = {"made": meta_clock(), "report": bindparam("said")}
        rows = [
            {"of": name, "under": epoch, "said": json.dumps({field: getattr(each, field) for field in _FIELDS})}
            for (name, epoch), each in made.items()
        ]
        if rows:
            with self._meta.writing() as connection:
                connection.execute(update(report).where(mine, exists().where(owner)).values(values), rows)

    def load(self, names: Sequence[str] | None = None) -> dict[str, AgedReport]:
        """The newest report of each subscription that has one, or of each of these."""
        columns = (report.c.subscribe_name, report.c.report, (meta_clock() - report.c.made).label("age"))
        chosen = select(*columns).where(report.c.cluster_id == self._cluster_id, report.c.report != "")
        if names is not None:
            chosen = chosen.where(report.c.subscribe_name.in_(names))
        with self._meta.reading() as connection:
            rows = connection.execute(chosen).all()
        return {
            row.subscribe_name: AgedReport(Report(**json.loads(row.report)), max(row.age, 0) / 1000) for row in rows
        }
