"""`python -m tailrace.testing.services up|down|status [NAME...]`; with no name: every component there is."""

from __future__ import annotations

import sys

import click

from tailrace.errors import TailraceError
from tailrace.testing.services import daemon
from tailrace.testing.services.catalogue import COMPONENTS, component


@click.command(help="Start, stop or show the real components that tests use, on loopback only.")
@click.argument("action", type=click.Choice(["up", "down", "status"]))
@click.argument("names", nargs=-1)
def main(action: str, names: tuple[str, ...]) -> None:
    try:
        chosen = [component(name) for name in names or sorted(COMPONENTS)]
        for each in chosen:
            if action == "up":
                place = daemon.up(each, lambda text: click.echo(text, err=True))
                click.echo(f"{each.name}: up on {place.address}, log {place.folder / 'log'}")
            elif action == "down":
                click.echo(f"{each.name}: {'stopped' if daemon.down(each) else 'was not running'}")
            else:
                running = daemon.find(each)
                where = f"up on {running.address}, log {running.folder / 'log'}" if running else "down"
                click.echo(f"{each.name}: {where} - {each.what}")
    except TailraceError as error:
        click.echo(str(error), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
