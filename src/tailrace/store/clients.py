"""Clients of buckets: from the parameters of a sink URI, named as TiCDC names them, to a `pyarrow.fs` filesystem.

Without keys in the URI the library looks for credentials where it always does (environment, profile, instance).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from tailrace.config import ObjectStore
from tailrace.errors import ConfigError, NotInstalled, SinkAway
from tailrace.store.bucket import THREADS, Bucket, Kind

_CONNECT_SECONDS = 5.0
_REQUEST_SECONDS = 60.0
_ATTEMPTS = 3
_RETRY_SECONDS = 15.0
_DEFAULT_REGION = "us-east-1"


def open_bucket(target: ObjectStore) -> Bucket:
    """Nothing is asked of the bucket yet, but for its region where the URI does not say it."""
    if not target.bucket:
        raise ConfigError(f"sink-uri names no bucket; it must be {target.scheme}://BUCKET/PREFIX")
    root = f"{target.bucket}/{target.prefix.strip('/')}".rstrip("/")
    return Bucket(connect(target), root, _place(target, root), _secrets(target), _KINDS.get(target.scheme))


def connect(target: ObjectStore) -> pafs.FileSystem:
    """The client of a bucket's store; paths begin with the bucket."""
    make = _CLIENTS.get(target.scheme)
    if make is None:
        raise ConfigError(f"sink-uri has the scheme {target.scheme}; a bucket's is one of {', '.join(_CLIENTS)}")
    try:
        return make(target)
    except (AttributeError, NotImplementedError) as missing:
        raise NotInstalled(f"this build of pyarrow has no client for {target.scheme}://") from missing
    except ValueError as error:
        raise ConfigError(f"sink-uri: {_without_secrets(target, str(error))}") from error
    except OSError as error:
        place = _place(target, target.bucket)
        raise SinkAway(f"{place} does not answer (its region is not known and could not be asked for)") from error


def _without_secrets(target: ObjectStore, text: str) -> str:
    for secret in _secrets(target):
        text = text.replace(secret, "******")
    return text


def _secrets(target: ObjectStore) -> tuple[str, ...]:
    return tuple(secret.reveal() for _, secret in target.secrets if secret)


def _place(target: ObjectStore, root: str) -> str:
    endpoint = target.option("endpoint")
    return f"bucket {target.scheme}://{root}" + (f" at {endpoint}" if endpoint else "")


def _s3(target: ObjectStore) -> pafs.FileSystem:
    endpoint = target.option("endpoint")
    split = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    region = target.option("region")
    if not region:
        region = _DEFAULT_REGION if endpoint else pafs.resolve_s3_region(target.bucket)
    # A client keeps as many connections as there are threads for I/O; more requests at once would only queue.
    if pa.io_thread_count() < THREADS:
        pa.set_io_thread_count(THREADS)
    return pafs.S3FileSystem(
        access_key=target.secret("access-key").reveal() or None,
        secret_key=target.secret("secret-access-key").reveal() or None,
        session_token=target.secret("session-token").reveal() or None,
        role_arn=target.option("role-arn") or None,
        external_id=target.option("external-id") or None,
        region=region,
        scheme=split.scheme,
        endpoint_override=split.netloc or None,
        force_virtual_addressing=not target.flag("force-path-style", True),
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        background_writes=False,
        allow_delayed_open=True,
    )


def _gcs(target: ObjectStore) -> pafs.FileSystem:
    endpoint = target.option("endpoint")
    split = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    return pafs.GcsFileSystem(
        anonymous=target.flag("anonymous"),
        scheme=split.scheme,
        endpoint_override=split.netloc or None,
        # Without a limit the library tries for a quarter of an hour, longer than a piece may take.
        retry_time_limit=timedelta(seconds=_RETRY_SECONDS),
    )


def _azure(target: ObjectStore) -> pafs.FileSystem:
    account = target.option("account-name") or os.environ.get("AZURE_STORAGE_ACCOUNT", "")
    if not account:
        raise ConfigError("sink-uri names no account-name, and AZURE_STORAGE_ACCOUNT is not set")
    token = target.secret("sas-token").reveal()
    key = target.secret("account-key").reveal() or ("" if token else os.environ.get("AZURE_STORAGE_KEY", ""))
    scheme, authority = azure_service(account, target.option("endpoint"))
    return pafs.AzureFileSystem(
        account_name=account,
        account_key=key or None,
        sas_token=token or None,
        blob_storage_authority=authority or None,
        blob_storage_scheme=scheme,
        dfs_storage_authority=authority.replace(".blob.", ".dfs.") or None,
        dfs_storage_scheme=scheme,
    )


def azure_service(account: str, endpoint: str) -> tuple[str, str]:
    """Scheme and authority as the library takes them: it puts the account before an authority that begins with a dot,
    and into the path of any other."""
    split = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    return split.scheme, split.netloc.removeprefix(account) if split.netloc.startswith(f"{account}.") else split.netloc


_GOOGLE = Kind(flat=True, seconds=_REQUEST_SECONDS)
_MICROSOFT = Kind(in_steps=True, seconds=_REQUEST_SECONDS)
_KINDS = {"gcs": _GOOGLE, "gs": _GOOGLE, "azblob": _MICROSOFT, "azure": _MICROSOFT}
_CLIENTS: dict[str, Callable[[ObjectStore], pafs.FileSystem]] = {
    "s3": _s3,
    "gcs": _gcs,
    "gs": _gcs,
    "azblob": _azure,
    "azure": _azure,
}
