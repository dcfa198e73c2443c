"""Durations as Go writes them: `1h30m`, `5s`, `100ms`, `-1.5h`. Seconds inside, text outside."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"[+-]?(?:0|(?:{_PART.pattern})+)")


def parse_duration(text: str) -> float:
    """Seconds; raises ValueError when the text is no duration."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration such as 5s, 1m30s or 500ms")
    seconds = sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))
    return -seconds if text.startswith("-") else seconds


def duration_text(seconds: float) -> str:
    """The shortest of such texts for an amount, to the microsecond."""
    if seconds < 0:
        return "-" + duration_text(-seconds)
    minutes, rest = divmod(round(seconds, 6), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h"] * (hours > 0) + [f"{minutes}m"] * (minutes > 0)
    if rest or not parts:
        parts.append(f"{rest:.6f}".rstrip("0").rstrip(".") + "s")
    return "".join(parts)
