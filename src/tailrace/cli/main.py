"""The command `tailrace`: one group, and a small file for each command.

A command's file is imported when the command is called or its help is asked for, so a missing extra breaks only the
commands that need it. Guarantee: what goes wrong ends in one line on standard error, and exit code 1 (2 for usage).
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from tailrace import __version__
from tailrace.errors import NotInstalled, TailraceError

# command: (where it is, one line for the list of commands)
COMMANDS = {
    "server": ("tailrace.cli.server:server", "Run a server, which carries subscriptions."),
    "subscribe": ("tailrace.cli.subscribe:subscribe", "Make a subscription."),
    "cancel": ("tailrace.cli.cancel:cancel", "End a subscription for good."),
    "status": ("tailrace.cli.status:status", "Show subscriptions: state, progress and lag."),
    "consume": ("tailrace.cli.consume:consume", "Carry the files of a changefeed into a database."),
    "dataserver": ("tailrace.cli.dataserver:dataserver", "The embedded range store, for trying and testing."),
    "demo": ("tailrace.cli.demo:demo", "See everything work in one go."),
}


class Commands(click.Group):
    """A group whose commands are found by name and imported late."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise NotInstalled(f"tailrace {name} needs the module {error.name}, which is not installed") from error
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="tailrace %(version)s")
def tailrace() -> None:
    """Change data capture on Spark: key ranges in, TiCDC's formats out."""


def main() -> None:
    """What the installed command calls."""
    try:
        tailrace.main(prog_name="tailrace")
    except TailraceError as error:
        click.echo(f"tailrace: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
