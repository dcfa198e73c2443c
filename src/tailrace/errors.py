"""The errors of Tailrace: one tree, stable codes, and for each the answer to "does trying again help?".

    TailraceError
    ├── Terminal                     trying again gives the same answer
    │   ├── ConfigError      TR-1001   a key, a value or a combination that cannot be
    │   ├── NotInstalled     TR-1002   an extra that a scheme needs is not installed
    │   ├── NotFound         TR-1003   a subscription, table or schema version that is not there
    │   ├── AlreadyExists    TR-1004   a subscription or an owner of a folder that is there
    │   ├── SchemaMismatch   TR-2001   rows that do not fit their table's schema
    │   ├── DecodeError      TR-2002   bytes that are not what their format says
    │   ├── EncodeError      TR-2003   values that their format cannot carry
    │   ├── MessageTooLarge  TR-2004   one change makes a message larger than the target takes
    │   ├── SchemaChanged    TR-2005   a reader's columns are no longer those of the table
    │   ├── PositionLost     TR-3001   history that a position needs is gone
    │   ├── TableGone        TR-3002   a table was dropped while it was read
    │   ├── SinkRefused      TR-4001   the target says no, and will again
    │   ├── Fenced           TR-5001   a newer owner has taken over; this one must stop
    │   ├── MetaVersion      TR-5002   a meta database that a newer version wrote
    │   └── OutOfStep        TR-5003   a step of progress that does not follow from what is saved
    └── Transient(retry_after)       trying again may help
        ├── UpstreamAway     TR-3101   a data server or master does not answer
        ├── StaleRoute       TR-3102   a range moved, split or merged: ask for the routes again
        ├── IteratorLost     TR-3103   a snapshot iterator is gone
        ├── Locked           TR-3104   a transaction is in the way
        ├── SinkAway         TR-4101   the target does not answer, or is full
        ├── WorkerLost       TR-5101   a Spark job or its worker died
        ├── MetaAway         TR-5102   the meta database or the server does not answer
        ├── Overdue          TR-5103   a piece or a step did not end in its time
        └── ClusterUnfit     TR-5104   the Spark cluster cannot run our workers as it is

Each error names the thing, the place and what would be right, and carries subscription, table and position where
they are known. A boundary wraps a foreign exception once; nothing swallows one. A secret never enters a message.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TailraceError(Exception):
    """Base of all; `str()` gives code, message and place on one line."""

    code: ClassVar[str] = "TR-0000"

    def __init__(self, message: str, *, subscription: str = "", table: str = "", position: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.subscription = subscription
        self.table = table
        self.position = position

    def at(self, *, subscription: str = "", table: str = "", position: str = "") -> TailraceError:
        """The same error with the places filled in that were still unknown where it was raised."""
        self.subscription = self.subscription or subscription
        self.table = self.table or table
        self.position = self.position or position
        return self

    def __str__(self) -> str:
        named = (("subscription", self.subscription), ("table", self.table), ("position", self.position))
        place = ", ".join(f"{name} {value}" for name, value in named if value)
        return f"{self.code} {self.message}" + (f" [{place}]" if place else "")

    def to_fields(self) -> dict[str, Any]:
        """What a receipt carries back to the driver."""
        fields: dict[str, Any] = {"kind": type(self).__name__, "message": self.message}
        fields |= {"subscription": self.subscription, "table": self.table, "position": self.position}
        return fields


class Terminal(TailraceError):
    """Trying again gives the same answer."""


class Transient(TailraceError):
    """Trying again, not before `retry_after` seconds, may help."""

    def __init__(self, message: str, *, retry_after: float = 1.0, **place: str) -> None:
        super().__init__(message, **place)
        self.retry_after = retry_after


class ConfigError(Terminal):
    code = "TR-1001"


class NotInstalled(Terminal):
    code = "TR-1002"


class NotFound(Terminal):
    code = "TR-1003"


class AlreadyExists(Terminal):
    code = "TR-1004"


class SchemaMismatch(Terminal):
    code = "TR-2001"


class DecodeError(Terminal):
    code = "TR-2002"


class EncodeError(Terminal):
    code = "TR-2003"


class MessageTooLarge(Terminal):
    code = "TR-2004"


class SchemaChanged(Terminal):
    code = "TR-2005"


class PositionLost(Terminal):
    code = "TR-3001"


class TableGone(Terminal):
    code = "TR-3002"


class SinkRefused(Terminal):
    code = "TR-4001"


class Fenced(Terminal):
    code = "TR-5001"


class MetaVersion(Terminal):
    code = "TR-5002"


class OutOfStep(Terminal):
    code = "TR-5003"


class UpstreamAway(Transient):
    code = "TR-3101"


class StaleRoute(Transient):
    code = "TR-3102"


class IteratorLost(Transient):
    code = "TR-3103"


class Locked(Transient):
    code = "TR-3104"


class SinkAway(Transient):
    code = "TR-4101"


class WorkerLost(Transient):
    code = "TR-5101"


class MetaAway(Transient):
    code = "TR-5102"


class Overdue(Transient):
    code = "TR-5103"


class ClusterUnfit(Transient):
    code = "TR-5104"


def _kinds(base: type[TailraceError]) -> dict[str, type[TailraceError]]:
    found = {base.__name__: base}
    for child in base.__subclasses__():
        found |= _kinds(child)
    return found


def from_fields(fields: dict[str, Any]) -> TailraceError:
    """The error that `to_fields` described; an unknown kind becomes a Transient that says so."""
    kind = _kinds(TailraceError).get(str(fields.get("kind")), Transient)
    place = {name: str(fields.get(name, "")) for name in ("subscription", "table", "position")}
    return kind(str(fields.get("message", "an error without a message")), **place)
