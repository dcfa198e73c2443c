"""Parameters of a URI become a client, or an error that names what is wrong and shows no secret."""

from __future__ import annotations

import pytest

from tailrace.config import ObjectStore, load_changefeed
from tailrace.errors import ConfigError
from tailrace.store.clients import azure_service, open_bucket


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"):
        monkeypatch.delenv(name, raising=False)


def target(uri: str) -> ObjectStore:
    storage = load_changefeed(uri, '[sink]\nprotocol = "csv"\n').sink.storage
    assert storage is not None
    return storage.store


@pytest.mark.parametrize(
    ("endpoint", "service"),
    [
        ("", ("https", "")),
        ("https://me.blob.core.windows.net", ("https", ".blob.core.windows.net")),
        ("me.blob.core.chinacloudapi.cn", ("https", ".blob.core.chinacloudapi.cn")),
        ("http://127.0.0.1:10000", ("http", "127.0.0.1:10000")),
        ("https://menot.blob.core.windows.net", ("https", "menot.blob.core.windows.net")),
    ],
)
def test_an_azure_endpoint_may_name_the_account_or_not(endpoint: str, service: tuple[str, str]) -> None:
    assert azure_service("me", endpoint) == service


@pytest.mark.parametrize("scheme", ["azure", "azblob"])
def test_azure_wants_an_account(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="account-name, and AZURE_STORAGE_ACCOUNT is not set"):
        open_bucket(target(f"{scheme}://box/p?protocol=csv"))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "me")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "aHVzaA==")
    assert open_bucket(target(f"{scheme}://box/p?protocol=csv")).place == f"bucket {scheme}://box/p"


def test_what_the_library_refuses_is_an_error_of_the_uri_without_its_secrets() -> None:
    both = "azure://box/p?protocol=csv&account-name=me&account-key=aHVzaA%3D%3D&sas-token=sig%3Dhush"
    with pytest.raises(ConfigError, match="sink-uri") as refused:
        open_bucket(target(both))
    assert "aHVzaA" not in str(refused.value) and "hush" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_google_is_opened_without_asking_it(scheme: str) -> None:
    uri = f"{scheme}://box/p?protocol=csv&anonymous=true&endpoint=http%3A%2F%2F127.0.0.1%3A1"
    assert open_bucket(target(uri)).place == f"bucket {scheme}://box/p at http://127.0.0.1:1"
