"""`tailrace status`: how subscriptions are. A table on a terminal, JSON for programs, again and again with --watch."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

import click

from tailrace.cli.options import server_option
from tailrace.cli.progress import fields as fields_of
from tailrace.cli.progress import lines
from tailrace.server.grpc.client import Client
from tailrace.server.subscriptions import Status

WATCH_SECONDS = 1.0


@click.command()
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON array (with --watch: one a line).")
@click.option("--watch", is_flag=True, help="Show again each second, until interrupted.")
@click.option("--all", "everything", is_flag=True, help="Cancelled subscriptions too.")
@server_option
def status(name: str, as_json: bool, watch: bool, everything: bool, server: str) -> None:
    """Show the subscription NAME, or all: state, rows, rate, time left of the snapshot, lag of the log."""
    # Ctrl-C is how watching ends, not a failure.
    with Client(server) as client, suppress(KeyboardInterrupt):
        while True:
            found = [each for each in client.status(name) if name or everything or not _is_over(each)]
            _show(found, as_json, watch)
            if not watch:
                return
            time.sleep(WATCH_SECONDS)


def _is_over(status: Status) -> bool:
    return status.subscription.state == "cancelled"


def _show(found: list[Status], as_json: bool, watch: bool) -> None:
    if as_json:
        click.echo(json.dumps([fields_of(each) for each in found], indent=None if watch else 2))
        return
    if watch and sys.stdout.isatty():
        click.clear()
    click.echo("\n".join(lines(found)))
