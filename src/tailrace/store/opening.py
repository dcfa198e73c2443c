"""Opening: from a checked target of a sink URI to its store.

The client library of a bucket is imported here and only for a bucket. Every call to one has a deadline. No message
of this module or of a store holds a secret.
"""

from __future__ import annotations

from tailrace.config import ObjectStore
from tailrace.errors import ConfigError
from tailrace.store.filesystem import WholeStore
from tailrace.store.local import LocalStore

_NETWORK_THREADS = 16


def open_store(target: ObjectStore) -> WholeStore:
    if target.scheme in ("file", "nfs"):
        if not target.prefix.startswith("/"):
            raise ConfigError(f"sink-uri names the folder {target.prefix!r}; it must be an absolute path")
        return LocalStore(target.prefix, _NETWORK_THREADS if target.scheme == "nfs" else 1)
    from tailrace.store.clients import open_bucket

    return open_bucket(target)
