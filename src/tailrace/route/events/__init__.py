"""Event filters: which changes and statements of a matched table are left out."""

from tailrace.route.events.filters import EventFilters as EventFilters
from tailrace.route.events.filters import TableEvents as TableEvents
from tailrace.route.events.words import is_forwarded as is_forwarded
