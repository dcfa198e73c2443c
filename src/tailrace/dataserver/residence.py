"""Residence: keeps what a data server holds in memory near what it needs.

Pages of the database file that were read stay mapped, and count as resident, until the system wants them back; and
the allocator keeps what many threads once used. Neither is lost work to let go. On other systems than Linux nothing
is done here.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pyarrow as pa

MAPPED_BYTES = 96 << 20
_PAGE = 4096
_DONTNEED = 4
_ARENA_MAX = -8
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
# A page of the log is some MB, several times over on its way out: mapped anew each time, half of a server's time
# would go into page faults.
_KEPT_BYTES = 64 << 20


def settle() -> None:
    """Once, before threads start: few arenas that keep some memory, and Arrow's buffers from the same allocator."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENA_MAX, 2)
        libc.mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
    pa.set_memory_pool(pa.system_memory_pool())


def release_mapped(file: Path) -> bool:
    """Unmap the resident pages of a mapped file where they are many; the next read of one maps it again."""
    if sys.platform != "linux" or _mapped_bytes() < MAPPED_BYTES:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, *_, name = line.split(maxsplit=5)
        if name == str(file):
            low, high = (int(edge, 16) for edge in span.split("-"))
            libc.madvise(ctypes.c_void_p(low), ctypes.c_size_t(high - low), _DONTNEED)
    return True


def _mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[2]) * _PAGE
