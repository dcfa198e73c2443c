"""Names: every event that a log line may bear, in one place, so that a search for one finds all of it.

A line states the object, what happened and what follows. There is one line for each change of state, never one for
each row, batch or range.
"""

from __future__ import annotations

SERVER_STARTED = "server-started"
SERVER_STOPPED = "server-stopped"
SERVER_TROUBLED = "server-troubled"
SERVER_RECOVERED = "server-recovered"
SUBSCRIBED = "subscribed"
CANCEL_ASKED = "cancel-asked"
CANCELLED = "cancelled"
CLAIMED = "claimed"
CLAIM_LOST = "claim-lost"
RELEASED = "released"
HANDED_OVER = "handed-over"
STATE_CHANGED = "state-changed"
PINS_KEPT = "pins-kept"

EVENTS = frozenset(value for name, value in dict(globals()).items() if name.isupper() and isinstance(value, str))
