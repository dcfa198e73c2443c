"""Sinks by their parts: the seed's `CDCSink` (a type and settings such as `mysql_host`) as a sink URI. Pure.

A setting is named by the type and a part of the URI: `mysql_host`, `mysql_port`, `mysql_user`, `mysql_password`,
`mysql_path`. `uri` gives the whole URI instead. Every other setting is a parameter of the URI, so one that the sink
does not know is refused where all parameters are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from tailrace.errors import ConfigError

_PARTS = ("host", "port", "user", "password", "path")


def sink_uri(kind: str, settings: Mapping[str, str]) -> str:
    """The URI; ConfigError when there is no type, or when it says otherwise than a given `uri`."""
    rest = dict(settings)
    whole = rest.pop("uri", "")
    if whole:
        if kind and not whole.startswith(f"{kind}://"):
            raise ConfigError(f"sink: the type is {kind}, but its uri has another scheme")
        if rest:
            raise ConfigError(f"sink: beside uri nothing else may be given, not {', '.join(sorted(rest))}")
        return whole
    if not kind:
        raise ConfigError("sink: neither a sink URI nor a sink's type is given")
    parts = {part: rest.pop(f"{kind}_{part}", "") for part in _PARTS}
    user = quote(parts["user"], safe="") + (f":{quote(parts['password'], safe='')}" if parts["password"] else "")
    place = (f"{user}@" if user else "") + parts["host"] + (f":{parts['port']}" if parts["port"] else "")
    query = f"?{urlencode(sorted(rest.items()))}" if rest else ""
    return f"{kind}://{place}/{parts['path'].lstrip('/')}{query}"
