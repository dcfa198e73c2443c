"""What the storage upstream takes from its URI and the writer's TOML, checked, as one value.

The options are those of the changefeed that wrote the files, under TiCDC's names. Where only a URI can be given, as in
a subscription, its parameters may say the same: `date-separator`, `terminator`, the keys of `[sink.csv]` and
`without-commit-ts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from tailrace.codec.base import FileDecoder
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonOptions
from tailrace.codec.csv import CsvDecoder, CsvOptions
from tailrace.config import ObjectStore, SinkConfig, load_changefeed, zone_named
from tailrace.errors import ConfigError
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.storage.paths import PathForm
from tailrace.upstream.storage.stamps import CsvStamps, JsonStamps, Stamps

WITHOUT = "without-commit-ts"
_TRUE = ("1", "true")
_CSV_TEXTS = ("delimiter", "quote", "null", "binary-encoding-method")
_CSV_FLAGS = ("include-commit-ts", "output-old-value", "output-handle-key", "output-field-header")
_SINK_TEXTS = ("date-separator", "terminator")


@dataclass(frozen=True, slots=True)
class Settings:
    """`stamps` is None where files carry no commit ts and are consumed whole, in their order. `member_texts`: values
    of ENUM and SET are the names of members, and not their numbers."""

    target: ObjectStore
    form: PathForm
    terminator: bytes
    decoder: FileDecoder
    stamps: Stamps | None
    zone: ZoneInfo
    member_texts: bool


def load_settings(spec: UpstreamSpec) -> Settings:
    """Raises ConfigError for everything that can be known to be wrong without asking the store."""
    uri, ours = _split(spec.uri)
    changefeed = load_changefeed(uri, _with(spec.config, ours))
    sink, storage = changefeed.sink, changefeed.sink.storage
    if storage is None:
        raise ConfigError(f"the upstream URI's scheme is {changefeed.scheme}, which is no storage's")
    without = ours.get(WITHOUT, "") in _TRUE
    csv = CsvOptions.of(sink)
    stamps = None if without else _stamps(sink, csv)
    return Settings(
        target=storage.store,
        form=PathForm(".csv" if sink.protocol == "csv" else ".json", sink.date_separator),
        terminator=sink.terminator.encode(),
        decoder=_decoder(sink, csv),
        stamps=stamps,
        zone=zone_named(spec.time_zone),
        member_texts=sink.protocol == "csv",
    )


def _split(uri: str) -> tuple[str, dict[str, str]]:
    """The URI as a sink knows it, and what an upstream's says besides."""
    base, mark, query = uri.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True) if mark else []
    own = {WITHOUT, *_CSV_TEXTS, *_CSV_FLAGS, *_SINK_TEXTS}
    kept = [(name, value) for name, value in pairs if name not in own]
    return (f"{base}?{urlencode(kept)}" if kept else base), {name: value for name, value in pairs if name in own}


def _with(config: str, ours: dict[str, str]) -> str:
    """The TOML, or one that the URI's parameters make."""
    given = {name: value for name, value in ours.items() if name != WITHOUT}
    if not given:
        return config
    if config:
        raise ConfigError(f"{', '.join(given)} may stand in the upstream URI or in the TOML file, not in both")
    sink = [f"{name} = {_toml(given[name])}" for name in _SINK_TEXTS if name in given]
    csv = [f"{name} = {_toml(given[name])}" for name in _CSV_TEXTS if name in given]
    csv += [f"{name} = {'true' if given[name] in _TRUE else 'false'}" for name in _CSV_FLAGS if name in given]
    return "\n".join(["[sink]", *sink, "[sink.csv]", *csv])


def _toml(text: str) -> str:
    plain = "".join(each if each >= " " and each not in '"\\' else f"\\u{ord(each):04x}" for each in text)
    return f'"{plain}"'


def _decoder(sink: SinkConfig, csv: CsvOptions) -> FileDecoder:
    if sink.protocol == "csv":
        return CsvDecoder(csv)
    return CanalJsonDecoder(CanalJsonOptions.of_files(sink))


def _stamps(sink: SinkConfig, csv: CsvOptions) -> Stamps:
    remedy = f"or consume whole files, at least once, with --{WITHOUT} (in a URI: {WITHOUT}=true)"
    if sink.protocol == "csv":
        if not csv.include_commit_ts:
            raise ConfigError(
                "these files carry no commit ts, so nothing that was written twice could be told from what happened "
                f"twice: set sink.csv.include-commit-ts = true in the changefeed that writes them, {remedy}"
            )
        return CsvStamps(csv)
    if not sink.messages.enable_tidb_extension:
        raise ConfigError(
            "these files carry no commit ts, so nothing that was written twice could be told from what happened "
            f"twice: set enable-tidb-extension=true in the changefeed that writes them, {remedy}"
        )
    return JsonStamps(sink.terminator.encode())
