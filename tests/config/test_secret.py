"""A secret is never in a text, and is itself all the same."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.config.secret import Secret, masked_uri


@dataclass(frozen=True)
class _Holder:
    name: str
    key: Secret


@given(st.text(min_size=7).filter(lambda value: value not in "Secret('******')_Holder(name='n', key=)"))
def test_no_text_of_a_secret_or_of_what_holds_it_shows_it(value: str) -> None:
    secret = Secret(value)
    for text in (str(secret), repr(secret), f"{secret}", f"{secret:>20}", f"{secret!r}", str(_Holder("n", secret))):
        assert value not in text
    assert secret.reveal() == value


def test_equal_secrets_are_equal_and_nothing_else_is() -> None:
    assert Secret("a") == Secret("a") and hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b") and Secret("a") != "a"
    assert not Secret("") and Secret("a")


@pytest.mark.parametrize(
    ("uri", "masked"),
    [
        ("s3://b/p?access-key=AK1&region=r", "s3://b/p?access-key=******&region=r"),
        ("s3://b/p?secret-access-key=S&session-token=T", "s3://b/p?secret-access-key=******&session-token=******"),
        ("s3://b/p?SECRET_ACCESS_KEY=S", "s3://b/p?SECRET_ACCESS_KEY=******"),
        ("mysql://root:geheim@h:4000/?a=1", "mysql://root:******@h:4000/?a=1"),
        ("mysql://root:ge/he@im@h:4000/", "mysql://root:******@h:4000/"),
        ("azure://c/p?account-key=K&sas-token=sv=1%26sig=2", "azure://c/p?account-key=******&sas-token=******"),
        ("kafka://h/t?sasl-password=P&sasl-user=u", "kafka://h/t?sasl-password=******&sasl-user=u"),
        ("kafka://h/t?schema-registry=http://u:p@h:1&a=1", "kafka://h/t?schema-registry=******&a=1"),
        ("kafka://h/t?r=http%3a%2F%2fu%3Ap%40h", "kafka://h/t?r=******"),
        ("kafka://h/t?schema-registry=http://h:1", "kafka://h/t?schema-registry=http://h:1"),
        ("file:///data/x?protocol=csv", "file:///data/x?protocol=csv"),
        ("", ""),
    ],
)
def test_a_uri_is_shown_without_its_secrets(uri: str, masked: str) -> None:
    assert masked_uri(uri) == masked


@given(st.text())
def test_any_text_can_be_masked_and_masking_again_changes_nothing(text: str) -> None:
    once = masked_uri(text)
    assert masked_uri(once) == once
