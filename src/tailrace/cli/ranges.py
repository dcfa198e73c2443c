"""`tailrace dataserver split|merge|move|status`: where ranges are, and how that is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.steering import RangeStatus, Steering, key_bytes, key_text
from tailrace.errors import ConfigError
from tailrace.upstream.dataserver.client import SCHEME, master_addresses

HEAD = ("RANGE", "TABLE", "FROM", "TO", "SERVER", "EPOCH", "ROWS", "OPEN", "PINNED BY")

store_option = click.option(
    "--store",
    "uri",
    required=True,
    envvar="TAILRACE_STORE",
    metavar="dataserver://HOST:PORT",
    help="The store's master (or TAILRACE_STORE).",
)


@click.command()
@click.argument("table", metavar="SCHEMA.TABLE")
@click.argument("key", default="")
@click.option("--rows", is_flag=True, help="The table's largest range, in the middle of its rows.")
@store_option
def split(table: str, key: str, rows: bool, uri: str) -> None:
    """Split a range of a table at KEY, which becomes the first key of the right half: an integer, or 0x and the key."""
    if rows == bool(key):
        raise click.UsageError("give either a KEY or --rows")
    with _steering(uri) as (client, steering):
        known = _table(client, table)
        made = steering.split_in_the_middle(known) if rows else steering.split(known, key_bytes(known, key))
        _say(known, made)


@click.command()
@click.argument("table", metavar="SCHEMA.TABLE")
@click.argument("left", type=int)
@click.argument("right", type=int)
@store_option
def merge(table: str, left: int, right: int, uri: str) -> None:
    """Make one range of the neighbours LEFT and RIGHT (numbers as `status` shows them), where LEFT is led."""
    with _steering(uri) as (client, steering):
        known = _table(client, table)
        _check_of(client, known, (left, right))
        _say(known, steering.merge(left, right))


@click.command()
@click.argument("range_id", metavar="RANGE", type=int)
@click.argument("server")
@click.option("--force", is_flag=True, help="Its leader is dead: shut it out, and read what it left.")
@store_option
def move(range_id: int, server: str, force: bool, uri: str) -> None:
    """Give RANGE another leader: SERVER is a number or an address, as `status` shows them."""
    with _steering(uri) as (_, steering):
        for route in steering.move(range_id, steering.server(server), force):
            click.echo(f"range {route.id} is led by {route.leader}")


@click.command()
@click.argument("table", metavar="[SCHEMA.TABLE]", default="")
@click.option("--json", "as_json", is_flag=True, help="A JSON array, keys in hexadecimal.")
@store_option
def status(table: str, as_json: bool, uri: str) -> None:
    """Show the ranges of a table, or of all: keys, leader, epoch, about how many rows, open transactions, pins."""
    with _steering(uri) as (client, steering):
        tables = [_table(client, table)] if table else client.upstream.tables(_Everything(), client.now())
        found = steering.status(tables)
    if as_json:
        click.echo(json.dumps([_fields(each) for each in found], indent=2))
        return
    rows = [HEAD, *(_line(each) for each in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for each in found:
        if each.problem:
            click.echo(f"range {each.range.id}: {each.problem}")


class _Everything:
    def matches(self, schema: str, table: str) -> bool:
        return True


@contextmanager
def _steering(uri: str) -> Iterator[tuple[StoreClient, Steering]]:
    client = StoreClient(uri if uri.startswith(SCHEME) else SCHEME + uri)
    steering = Steering(client, master_addresses(uri if uri.startswith(SCHEME) else SCHEME + uri)[0])
    try:
        yield client, steering
    finally:
        steering.close()
        client.close()


def _table(client: StoreClient, name: str) -> TableSchema:
    schema, _, table = name.partition(".")
    if not schema or not table:
        raise ConfigError(f"{name!r} should be a table's full name, SCHEMA.TABLE")
    return client.table(schema, table)


def _check_of(client: StoreClient, table: TableSchema, ids: Sequence[int]) -> None:
    known = {route.id for route in client.upstream.routes(table)}
    strange = [each for each in ids if each not in known]
    if strange:
        raise ConfigError(f"{table.full_name} has no range {strange[0]}; it has {sorted(known)}")


def _say(table: TableSchema, made: Sequence[Range]) -> None:
    for route in made:
        low, high = key_text(table, route.start) or "the start", key_text(table, route.end) or "the end"
        click.echo(f"range {route.id}: from {low} to {high}, led by {route.leader}")


def _line(each: RangeStatus) -> tuple[str, ...]:
    route = each.range
    return (
        str(route.id),
        each.table.full_name,
        key_text(each.table, route.start) or "-",
        key_text(each.table, route.end) or "-",
        f"{each.server_id} {route.leader}",
        f"{route.epoch.version}.{route.epoch.leader}",
        "?" if each.problem else f"{each.rows:,}",
        "?" if each.problem else str(each.open_transactions),
        ", ".join(each.subscribers) or "-",
    )


def _fields(each: RangeStatus) -> dict[str, object]:
    route = each.range
    return {
        "range": route.id,
        "table": each.table.full_name,
        "partition_id": route.partition_id,
        "start": route.start.hex(),
        "end": route.end.hex(),
        "server": each.server_id,
        "leader": route.leader,
        "epoch": [route.epoch.version, route.epoch.leader],
        "rows": each.rows,
        "log_pages": each.log_pages,
        "open_transactions": each.open_transactions,
        "resolved_ts": each.resolved_ts,
        "subscribers": list(each.subscribers),
        "problem": each.problem,
    }
