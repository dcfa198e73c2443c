"""Lag: how far behind a delivery is, defined in every state, and how long its snapshot will take.

Pure numbers in seconds. A report says how far behind its delivery was when it was made; a delivery that is paused,
failed or gone makes no more reports, and falls behind by a second each second. So lag is always known.
"""

from __future__ import annotations


def lag_seconds(reported: float, age: float) -> float:
    """What the lag is now, from what it was when it was reported `age` seconds ago."""
    return max(reported, 0.0) + max(age, 0.0)


def time_left(done: int, total: int, rate: float) -> float | None:
    """Seconds until `total` at `rate` a second; None while nobody can know."""
    if total <= 0 or rate <= 0:
        return None
    return max(total - done, 0) / rate


def duration(seconds: float) -> str:
    """Seconds as people say them: `0.4s`, `12s`, `3m05s`, `2h10m`, `4d3h`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600}h"
