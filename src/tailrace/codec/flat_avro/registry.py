"""Schema registries: a number for each schema, by which messages name it.

A registry gives the same schema of the same subject the same number, for ever, and never changes what a number means.
Registering may wait for another machine; codecs ask once for each table version and subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from tailrace.errors import NotFound


class Registry(Protocol):
    def register(self, subject: str, schema: str) -> int:
        """The number of a schema's text under a subject, a new one if the registry did not know it."""
        ...

    def schema(self, number: int) -> str:
        """The text of a schema. Raises NotFound."""
        ...


@dataclass(slots=True)
class MemoryRegistry:
    """A Registry of one process: numbers from 1 on, in the order of registration."""

    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _schemas: dict[int, str] = field(default_factory=dict)
    _next: Iterator[int] = field(default_factory=lambda: count(1))

    def register(self, subject: str, schema: str) -> int:
        number = self._numbers.get((subject, schema))
        if number is None:
            number = self._numbers[subject, schema] = next(self._next)
            self._schemas[number] = schema
        return number

    def schema(self, number: int) -> str:
        try:
            return self._schemas[number]
        except KeyError:
            raise NotFound(f"the registry has no schema {number}; it has {len(self._schemas)}") from None

    @property
    def registered(self) -> dict[int, tuple[str, str]]:
        """(subject, schema) by number."""
        return {number: key for key, number in self._numbers.items()}
