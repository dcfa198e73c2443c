"""Secrets: values that may be used but never seen.

Guarantee: no way of turning a `Secret` into text (`str`, `repr`, `format`, a dataclass's own `repr`) shows it, and
`masked_uri` keeps of a URI only what is no password, key or token. Only `reveal` gives the value, and only those who
hand it to a client library may call it.
"""

from __future__ import annotations

import hmac
import re

_MASK = "******"
_SECRET_WORDS = (
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "access-key",
    "account-key",
    "encryption-key",
    "private-key",
    "signature",
)
_SHOWN = frozenset({"sasl-oauth-token-url", "credentials-file"})
_ALWAYS = frozenset({"key", "pwd", "sig", "sas", "access_key", "auth"})
_PARAMETER = re.compile(r"([?&;#]|^)([^=&;#?]+)=([^&;#]*)")
_HOLDS_USER = re.compile("(//|%2f%2f).*(@|%40)", re.IGNORECASE)
_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)([^?#]*)@")


class Secret:
    """A value that shows itself as ******; equal secrets are equal, so values that hold one compare and hash."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    def __str__(self) -> str:
        return _MASK if self._value else ""

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def is_secret_name(name: str) -> bool:
    """Whether a key or URI parameter of this name holds something that must not be shown."""
    plain = name.strip().lower().replace("_", "-")
    if plain in _SHOWN:
        return False
    return plain in _ALWAYS or any(word in plain for word in _SECRET_WORDS)


def masked_uri(uri: str) -> str:
    """The URI with its password and the values of its secret parameters replaced by ******; any text is accepted."""

    def user(found: re.Match[str]) -> str:
        name, colon, _ = found[2].partition(":")
        return f"{found[1]}{name}{colon}{_MASK if colon else ''}@"

    def parameter(found: re.Match[str]) -> str:
        hidden = found[3] and (is_secret_name(found[2]) or _HOLDS_USER.search(found[3]))
        shown = _MASK if hidden else found[3]
        return f"{found[1]}{found[2]}={shown}"

    return _PARAMETER.sub(parameter, _USER.sub(user, uri))
