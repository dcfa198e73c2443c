"""CSV options: what exists is valid, and a refusal names the key."""

from typing import Any

import pytest

from tailrace.codec.csv import CsvDecoder, CsvOptions
from tailrace.errors import ConfigError


def test_defaults_are_those_of_ticdc() -> None:
    options = CsvOptions()
    assert (options.delimiter, options.quote, options.null, options.terminator) == (",", '"', "\\N", "\r\n")
    assert options.binary_encoding_method == "base64"


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("delimiter", {"delimiter": ""}),
        ("delimiter", {"delimiter": "abcd"}),
        ("delimiter", {"delimiter": "éé"}),
        ("delimiter", {"delimiter": ",\n"}),
        ("delimiter", {"delimiter": "\r"}),
        ("quote", {"quote": "''"}),
        ("quote", {"quote": "\n"}),
        ("quote", {"quote": "é"}),
        ("quote", {"quote": "|", "delimiter": "||"}),
        ("binary-encoding-method", {"binary_encoding_method": "hex64"}),
    ],
)
def test_a_bad_value_is_refused_by_its_key(key: str, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"sink.csv.{key} is"):
        CsvOptions(**given)


@pytest.mark.parametrize("delimiter", [",", "||", "|@|", "\t", "é", "\\"])
def test_every_delimiter_of_one_to_three_bytes_is_taken(delimiter: str) -> None:
    assert CsvOptions(delimiter=delimiter).delimiter == delimiter


@pytest.mark.parametrize(
    "given",
    [{"terminator": ""}, {"terminator": '"\n'}, {"quote": "", "delimiter": "n"}, {"quote": "", "null": "\\"}],
)
def test_a_form_that_cannot_be_read_back_has_no_decoder(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="cannot be read back"):
        CsvDecoder(CsvOptions(**given))
