"""Options that several commands share."""

from __future__ import annotations

import click

DEFAULT_SERVER = "127.0.0.1:8300"

server_option = click.option(
    "--server",
    "server",
    default=DEFAULT_SERVER,
    show_default=True,
    envvar="TAILRACE_SERVER",
    metavar="HOST:PORT",
    help="The server to ask (or TAILRACE_SERVER).",
)
