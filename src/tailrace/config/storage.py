"""Storage sinks: the URI's parameters and `[sink.cloud-storage-config]`, with TiCDC's defaults and limits.

The URI wins over the file. A value beyond a limit is moved to the limit with a warning, as TiCDC does; what is no
number or duration is an error. Credentials are given whole or not at all.
"""

from __future__ import annotations

from tailrace.config.duration import duration_text
from tailrace.config.secret import Secret
from tailrace.config.table import Table, duration_of
from tailrace.config.uri import SinkUri
from tailrace.config.values import ObjectStore, StorageConfig
from tailrace.errors import ConfigError

FILES = frozenset({"file", "nfs"})
_S3 = ("endpoint", "region", "force-path-style", "role-arn", "external-id")
_GCS = ("endpoint", "anonymous")
_AZURE = ("endpoint", "account-name")
_OPTIONS = {"s3": _S3, "gcs": _GCS, "gs": _GCS, "azblob": _AZURE, "azure": _AZURE}
_S3_SECRETS = ("access-key", "secret-access-key", "session-token")
_AZURE_SECRETS = ("account-key", "sas-token")
_SECRETS = {"s3": _S3_SECRETS, "azblob": _AZURE_SECRETS, "azure": _AZURE_SECRETS}
SCHEMES = FILES | _OPTIONS.keys()

# Parameters of TiCDC that say how objects are kept or paid for: leaving them out in silence would be wrong.
_S3_REFUSED = ("acl", "sse", "sse-kms-key-id", "storage-class", "profile")
_GCS_REFUSED = ("predefined-acl", "storage-class", "credentials-file")
_AZURE_REFUSED = ("access-tier", "encryption-scope", "encryption-key")
_REFUSED = {
    "s3": _S3_REFUSED,
    "gcs": _GCS_REFUSED,
    "gs": _GCS_REFUSED,
    "azblob": _AZURE_REFUSED,
    "azure": _AZURE_REFUSED,
}
_UNUSED = ("provider", "use-accelerate-endpoint")

OWN_PARAMETERS = ("worker-count", "flush-interval", "file-size")
_FLAGS = ("force-path-style", "anonymous")
_WORKERS = (1, 512)
_FLUSH_SECONDS = (2.0, 600.0)
_FILE_BYTES = (1 << 20, 512 << 20)
_CONCURRENCY = (1, 512)


def parameters(scheme: str) -> tuple[str, ...]:
    """The names of the parameters that say where to write and how to reach it."""
    return (*OWN_PARAMETERS, *_backend(scheme))


def check_parameters(uri: SinkUri, others: tuple[str, ...], warnings: list[str]) -> None:
    """Refuses a parameter that is neither one of storage nor of `others`, and one that could not be honoured."""
    for name in map(_spelled, uri.names):
        if name in _REFUSED.get(uri.scheme, ()):
            raise ConfigError(f"the URI parameter {name} of TiCDC can not be honoured by Tailrace; leave it away")
        if uri.scheme == "s3" and name in _UNUSED:
            warnings.append(f"the URI parameter {name} has no effect in Tailrace")
    backend = _backend(uri.scheme)
    uri.refuse_others((*others, *parameters(uri.scheme)), (name for name in uri.names if _spelled(name) in backend))


def read_storage(uri: SinkUri, table: Table, warnings: list[str]) -> StorageConfig:
    """`table` is `[sink.cloud-storage-config]`; what had to be moved to a limit is added to `warnings`."""
    workers = uri.number("worker-count", table.number("worker-count", 16))
    if workers < _WORKERS[0]:
        raise ConfigError(f"worker-count is {workers}; it may be from 1 to 512")
    said = table.text("flush-interval")
    in_file = duration_of(said, table.key("flush-interval")) if said else 5.0
    flush = _within("flush-interval", uri.duration("flush-interval", in_file), _FLUSH_SECONDS, warnings, "s")
    size = _within("file-size", uri.number("file-size", table.number("file-size", 64 << 20)), _FILE_BYTES, warnings)
    concurrency = table.number("flush-concurrency", 1)
    if not _CONCURRENCY[0] <= concurrency <= _CONCURRENCY[1]:
        warnings.append(f"{table.key('flush-concurrency')} is {concurrency}; it may be from 1 to 512: 1 is taken")
        concurrency = 1
    cron = table.text("file-cleanup-cron-spec", "0 0 2 * * *")
    return StorageConfig(
        store=_store(uri),
        worker_count=int(_within("worker-count", workers, _WORKERS, warnings)),
        flush_interval=flush,
        file_size=int(size),
        flush_concurrency=concurrency,
        file_expiration_days=max(table.number("file-expiration-days", 0), 0),
        file_cleanup_cron_spec=cron,
        output_column_id=table.flag("output-column-id"),
        output_raw_change_event=table.flag("output-raw-change-event"),
    )


def _backend(scheme: str) -> tuple[str, ...]:
    return (*_OPTIONS.get(scheme, ()), *_SECRETS.get(scheme, ()), *(_UNUSED if scheme == "s3" else ()))


def _spelled(name: str) -> str:
    """A parameter's name as object stores read it: `access_key` is `access-key`."""
    return name.lower().replace("_", "-")


def _within(name: str, value: float, limits: tuple[float, float], warnings: list[str], unit: str = "") -> float:
    moved = min(max(value, limits[0]), limits[1])
    if moved != value:
        low, high, now = (duration_text(each) if unit else str(int(each)) for each in (*limits, moved))
        warnings.append(f"{name} may be from {low} to {high}: {now} is taken")
    return moved


def _store(uri: SinkUri) -> ObjectStore:
    given = {_spelled(name): uri.text(name) for name in reversed(uri.names)}
    options = tuple((name, given[name]) for name in _OPTIONS.get(uri.scheme, ()) if given.get(name))
    secrets = tuple((name, Secret(given[name])) for name in _SECRETS.get(uri.scheme, ()) if given.get(name))
    for name, value in options:
        if name in _FLAGS and value not in ("true", "false"):
            raise ConfigError(f"the URI parameter {name} is true or false, not {value!r}")
    _check_whole({name for name, _ in (*options, *secrets)})
    if uri.scheme in FILES:
        return ObjectStore(uri.scheme, "", _folder(uri), options, secrets)
    if not uri.authority or "@" in uri.authority:
        raise ConfigError(
            f"a {uri.scheme}:// URI names its bucket and nothing else after ://, as {uri.scheme}://bucket"
        )
    return ObjectStore(uri.scheme, uri.authority, uri.path.strip("/"), options, secrets)


def _folder(uri: SinkUri) -> str:
    if uri.authority not in ("", "localhost"):
        raise ConfigError(
            f"a {uri.scheme}:// URI has three slashes and an absolute folder, as {uri.scheme}:///folder;"
            " what stands after two slashes would be a host"
        )
    if not uri.path.strip("/"):
        raise ConfigError(f"a {uri.scheme}:// URI names an absolute folder, as {uri.scheme}:///folder")
    return "/" + uri.path.strip("/")


def _check_whole(given: set[str]) -> None:
    for one, other in (("access-key", "secret-access-key"), ("secret-access-key", "access-key")):
        if one in given and other not in given:
            raise ConfigError(f"the URI parameter {one} is given without {other}; they go together")
    if "session-token" in given and "access-key" not in given:
        raise ConfigError("the URI parameter session-token is given without access-key and secret-access-key")
    if "account-key" in given and "account-name" not in given:
        raise ConfigError("the URI parameter account-key is given without account-name; they go together")
