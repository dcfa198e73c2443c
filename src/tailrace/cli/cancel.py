"""`tailrace cancel`: end a subscription for good. What was delivered stays where it is."""

from __future__ import annotations

import time

import click

from tailrace.cli.options import server_option
from tailrace.errors import MetaAway
from tailrace.server.grpc.client import Client

POLL_SECONDS = 0.1


@click.command()
@click.argument("name")
@click.option("--wait", default=30.0, show_default=True, metavar="SECONDS", help="How long to wait for the end.")
@server_option
def cancel(name: str, wait: float, server: str) -> None:
    """End the subscription NAME for good: its progress is forgotten, its history let go."""
    deadline = time.monotonic() + wait
    with Client(server) as client:
        state = client.cancel(name).subscription.state
        while state != "cancelled" and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            state = client.status(name)[0].subscription.state
    if state != "cancelled" and wait > 0:
        raise MetaAway(f"not cancelled after {wait:g} seconds; a server goes on with it").at(subscription=name)
    click.echo(f"{state} {name}")
