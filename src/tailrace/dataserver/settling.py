"""Settling: a data server tells the master what became of its ranges, and asks what became of those that it yielded.

So a change that was cut off in the middle, because the master died, comes to one end or the other by itself. It also
notices that another server took over from this one. Nothing else depends on when it runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from tailrace.dataserver.changeover import Changeover
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.errors import TailraceError

EVERY_S = 1.0
YIELDED_S = 15.0
_LOG = logging.getLogger(__name__)


class Settling:
    def __init__(
        self,
        node: Node,
        changeover: Changeover,
        tell: Callable[[Sequence[RangeMeta], Sequence[RangeMeta]], None],
        is_mine: Callable[[int], bool],
        shut_out: Callable[[], None],
    ) -> None:
        """`tell(parents, heirs)` returns when the master has written it down; `is_mine(range id)` asks it."""
        self._node, self._changeover = node, changeover
        self._tell, self._is_mine, self._shut_out = tell, is_mine, shut_out
        self._yielded: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="settle", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def once(self) -> None:
        if self._node.wal.sealed:
            self._shut_out()
            return
        self._announce()
        self._ask_back()

    def _announce(self) -> None:
        waiting: dict[tuple[int, ...], list[RangeLeader]] = defaultdict(list)
        for leader in self._node.leaders():
            if leader.meta.heirs and not leader.meta.settled:
                waiting[leader.meta.heirs].append(leader)
        for heirs, parents in waiting.items():
            try:
                self._announce_one(heirs, sorted(parents, key=lambda leader: leader.meta.start))
            except TailraceError as error:
                _LOG.warning("what became of ranges will be told again: %s", error)

    def _announce_one(self, heirs: Sequence[int], parents: Sequence[RangeLeader]) -> None:
        here = {leader.meta.range_id for leader in self._node.leaders()}
        missing = [each for each in heirs if each not in here]
        for each in missing:
            # Only a range that the master has written down gets another leader: so it was told, and this server died
            # before it could note that. NotFound: the heir is still on its way here.
            self._is_mine(each)
        if not missing:
            made = [self._node.leader(each).meta for each in heirs]
            if (parents[0].meta.start, parents[-1].meta.end) != (made[0].start, made[-1].end):
                # The other parent of a merge is still to come here.
                return
            self._tell([leader.meta for leader in parents], made)
        for leader in parents:
            self._changeover.settled(leader)

    def _ask_back(self) -> None:
        """A range that was yielded and not taken is led again; one that was taken is let go of."""
        now = time.monotonic()
        yielded = [leader.meta.range_id for leader in self._node.leaders() if leader.meta.yielded]
        self._yielded = {each: self._yielded.get(each, now) for each in yielded}
        for range_id, since in self._yielded.items():
            if now - since < YIELDED_S:
                continue
            if self._is_mine(range_id):
                self._changeover.resume(range_id)
            else:
                self._changeover.forget(range_id)

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            try:
                self.once()
            except TailraceError as error:
                _LOG.warning("what became of ranges will be told again: %s", error)
            except Exception:
                # A bug here must be seen, but must not end the settling of all other ranges.
                _LOG.exception("settling failed and will be tried again")
