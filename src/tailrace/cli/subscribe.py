"""`tailrace subscribe`: make a subscription. Everything that is wrong with it is said at once, and nothing is made."""

from __future__ import annotations

from pathlib import Path

import click

from tailrace.cli.options import server_option
from tailrace.errors import ConfigError
from tailrace.server.grpc.client import Client
from tailrace.server.requests import SubscribeRequest


@click.command()
@click.argument("name")
@click.option("--upstream", default="", metavar="URI", help="Where changes come from; the server's own when left out.")
@click.option("--sink", required=True, metavar="URI", help="Where changes go, as TiCDC's --sink-uri.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A changefeed's TOML file, as TiCDC's.",
)
@click.option("--filter", "rules", multiple=True, metavar="RULE", help="A table filter rule such as 'shop.*'; repeat.")
@click.option(
    "--start",
    default="snapshot",
    show_default=True,
    metavar="snapshot|now|TS",
    help="All rows first, or only changes after now or after a timestamp.",
)
@click.option("--end", default="", metavar="TS", help="Finish after this timestamp.")
@click.option("--time-zone", default="UTC", show_default=True, help="Of TIMESTAMP columns and date folders.")
@server_option
def subscribe(
    name: str,
    upstream: str,
    sink: str,
    config: Path | None,
    rules: tuple[str, ...],
    start: str,
    end: str,
    time_zone: str,
    server: str,
) -> None:
    """Make the subscription NAME: carry changes of matching tables from an upstream into a sink."""
    text = _text_of(config) if config else ""
    request = SubscribeRequest(name, upstream, sink, text, rules, start, end, time_zone)
    with Client(server) as client:
        status = client.subscribe(request)
    for warning in status.warnings:
        click.echo(f"warning: {warning}", err=True)
    made = status.subscription
    tables = ", ".join(made.tables) or "no table matches yet"
    click.echo(f"subscribed {made.name}: {tables} -> {made.sink}")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config: {file} cannot be read as UTF-8 text: {error}") from error
