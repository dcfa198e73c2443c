"""Endings: how a delivery leaves a server. Each may take as long as the carrier or the upstream takes.

After each the subscription's lease may be given back, because its delivery has stopped. What was asked for is done
again by the next owner where it could not be done: a cancellation stays `cancelling` until everything of it is done.
"""

from __future__ import annotations

import logging

from tailrace import plugins
from tailrace.errors import Fenced, NotFound, TailraceError
from tailrace.observe import names
from tailrace.observe.failpoints import reach
from tailrace.observe.logs import say
from tailrace.pipeline.assignment import Carrier
from tailrace.progress.ledger import Ledger
from tailrace.route.filter import TableFilter
from tailrace.server.pins import release_pins
from tailrace.server.records import Records

logger = logging.getLogger(__name__)


class Endings:
    def __init__(self, records: Records, ledger: Ledger, carrier: Carrier) -> None:
        self._records = records
        self._ledger = ledger
        self._carrier = carrier

    def let_go(self, name: str) -> None:
        """Stop carrying; the history stays pinned for whoever carries it next."""
        self._carrier.remove(name, release=False)
        say(logger, logging.INFO, names.RELEASED, subscription=name)

    def finish(self, name: str) -> None:
        """The end was reached: nothing more is needed of the upstream."""
        self._carrier.remove(name, release=True)
        self._release_pins(name)

    def cancel(self, name: str, epoch: int) -> None:
        """Stop carrying, let go of the history, forget the progress; then the subscription is cancelled."""
        self._carrier.remove(name, release=True)
        reach("cancel-stopped")
        self._release_pins(name)
        reach("cancel-released")
        try:
            self._ledger.clear(name, epoch)
            reach("cancel-forgotten")
            self._records.set_state(name, epoch, "cancelled", None)
            say(logger, logging.INFO, names.CANCELLED, subscription=name)
        except Fenced:
            say(logger, logging.WARNING, names.CLAIM_LOST, subscription=name, epoch=epoch)

    def _release_pins(self, name: str) -> None:
        """An upstream that is gone for good must not keep a subscription from ending."""
        try:
            record = self._records.get(name)
            upstream = plugins.open_upstream(record.upstream_spec)
            try:
                release_pins(upstream, TableFilter(record.rules, record.case_sensitive), name)
            finally:
                upstream.close()
        except NotFound:
            return
        except TailraceError as error:
            say(logger, logging.WARNING, names.PINS_KEPT, subscription=name, reason=str(error))
