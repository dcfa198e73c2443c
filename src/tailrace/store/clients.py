"""Clients of buckets: from the parameters of a sink URI, named as TiCDC names them, to a `pyarrow.fs` filesystem.

Without keys in the URI the library looks for credentials where it always does (environment, profile, instance).
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from tailrace.config import ObjectStore
from tailrace.errors import ConfigError, NotInstalled, SinkAway
from tailrace.store.bucket import Bucket

_CONNECT_SECONDS = 5.0
_REQUEST_SECONDS = 60.0
_ATTEMPTS = 3
_DEFAULT_REGION = "us-east-1"


def open_bucket(target: ObjectStore) -> Bucket:
    """Nothing is asked of the bucket yet, but for its region where the URI does not say it."""
    if not target.bucket:
        raise ConfigError(f"sink-uri names no bucket; it must be {target.scheme}://BUCKET/PREFIX")
    root = f"{target.bucket}/{target.prefix.strip('/')}".rstrip("/")
    secrets = tuple(secret.reveal() for _, secret in target.secrets if secret)
    return Bucket(connect(target), root, _place(target, root), secrets)


def connect(target: ObjectStore) -> pafs.FileSystem:
    """The client of a bucket's store; paths begin with the bucket."""
    make = _CLIENTS.get(target.scheme)
    if make is None:
        raise ConfigError(f"sink-uri has the scheme {target.scheme}; a bucket's is one of {', '.join(_CLIENTS)}")
    try:
        return make(target)
    except (AttributeError, NotImplementedError) as missing:
        raise NotInstalled(f"this build of pyarrow has no client for {target.scheme}://") from missing
    except OSError as error:
        place = _place(target, target.bucket)
        raise SinkAway(f"{place} does not answer (its region is not known and could not be asked for)") from error


def _place(target: ObjectStore, root: str) -> str:
    endpoint = target.option("endpoint")
    return f"bucket {target.scheme}://{root}" + (f" at {endpoint}" if endpoint else "")


def _s3(target: ObjectStore) -> pafs.FileSystem:
    endpoint = target.option("endpoint")
    split = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    region = target.option("region")
    if not region:
        region = _DEFAULT_REGION if endpoint else pafs.resolve_s3_region(target.bucket)
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
        anonymous=target.flag("anonymous"), scheme=split.scheme, endpoint_override=split.netloc or None
    )


def _azure(target: ObjectStore) -> pafs.FileSystem:
    endpoint = target.option("endpoint")
    split = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
    return pafs.AzureFileSystem(
        account_name=target.option("account-name"),
        account_key=target.secret("account-key").reveal() or None,
        sas_token=target.secret("sas-token").reveal() or None,
        blob_storage_authority=split.netloc or None,
        blob_storage_scheme=split.scheme,
    )


_CLIENTS: dict[str, Callable[[ObjectStore], pafs.FileSystem]] = {
    "s3": _s3,
    "gcs": _gcs,
    "gs": _gcs,
    "azblob": _azure,
    "azure": _azure,
}
