"""`python -m tailrace.testing.services up|down|status [NAME...]`; with no name: every component but the large ones."""

from __future__ import annotations

import sys

import click

from tailrace.errors import TailraceError
from tailrace.pipeline.java import cache_folder
from tailrace.testing.services import daemon
from tailrace.testing.services.catalogue import COMPONENTS, LARGE, TOOLS, known
from tailrace.testing.services.component import Component, Tool


@click.command(help="Start, stop or show the real components that tests use, on loopback only.")
@click.argument("action", type=click.Choice(["up", "down", "status"]))
@click.argument("names", nargs=-1)
def main(action: str, names: tuple[str, ...]) -> None:
    every = {*COMPONENTS, *TOOLS}
    failed = False
    for name in names or sorted(every - LARGE if action == "up" else every):
        # One that cannot be had keeps no other from coming up.
        try:
            each = known(name)
            click.echo(f"{name}: {_tool(action, each) if isinstance(each, Tool) else _component(action, each)}")
        except TailraceError as error:
            failed = True
            click.echo(str(error), err=True)
    if failed:
        sys.exit(1)


def _component(action: str, each: Component) -> str:
    if action == "up":
        place = daemon.up(each, _tell)
        return f"up on {place.address}, log {place.folder / 'log'}"
    if action == "down":
        return "stopped" if daemon.down(each) else "was not running"
    running = daemon.find(each)
    where = f"up on {running.address}, log {running.folder / 'log'}" if running else "down"
    return f"{where} - {each.what}"


def _tool(action: str, each: Tool) -> str:
    folder = cache_folder() / "bin"
    if action == "up":
        return f"at {each.install(folder, _tell)}"
    if action == "down":
        return "does not run"
    return f"{each.found(folder) or 'not there'} - {each.what}"


def _tell(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
