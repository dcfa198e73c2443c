"""Failures: our errors are found in Spark's, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from tailrace.errors import SchemaChanged, TailraceError, UpstreamAway
from tailrace.pipeline.view import failure_of

TEXT = """[STREAM_FAILED] Query [id = x] terminated with exception: Error from PythonException:
Traceback (most recent call last):
  File "stream.py", line 1, in latestOffset
    raise self._changed(version)
tailrace.errors.{}
 SQLSTATE: XXKST"""


@pytest.mark.parametrize(
    "error",
    [
        SchemaChanged("the version 7 has no column a", table="s.t", position="version 7"),
        UpstreamAway("bucket [b] cannot be read"),
        SchemaChanged("plain"),
    ],
)
def test_an_error_of_ours_is_found_with_its_kind_and_message(error: TailraceError) -> None:
    found = failure_of(RuntimeError(TEXT.format(f"{type(error).__name__}: {error}")))
    assert type(found) is type(error)
    assert found is not None and found.message == error.message


def test_an_error_that_caused_another_is_found_too() -> None:
    outer = RuntimeError("something else")
    outer.__cause__ = RuntimeError(TEXT.format(f"SchemaChanged: {SchemaChanged('x')}"))
    assert isinstance(failure_of(outer), SchemaChanged)
    assert failure_of(outer.__cause__.__cause__) is None


@pytest.mark.parametrize("text", ["", "ValueError: TR-1001 x", "tailrace.errors.Nothing: TR-1001 x"])
def test_other_errors_are_none_of_ours(text: str) -> None:
    assert failure_of(RuntimeError(text)) is None
