"""`tailrace dataserver`: run a process of the embedded range store, and steer its ranges."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path

import click

from tailrace.cli.parent import when_parent_ends
from tailrace.cli.ranges import merge, move, split, status
from tailrace.dataserver.process import Options, Role, StoreProcess
from tailrace.dataserver.retention import HISTORY_BYTES
from tailrace.errors import TailraceError


@click.group()
def dataserver() -> None:
    """The embedded range store: a small database for trying Tailrace out, and for its tests."""


@dataserver.command()
@click.option("--store", required=True, type=click.Path(path_type=Path), help="Folder of this process; made if absent.")
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT; port 0 takes a free one.")
@click.option("--role", type=click.Choice(["master", "data", "both"]), default="both", show_default=True)
@click.option("--master", default="", help="HOST:PORT of the master; needed for the role data.")
@click.option("--fsync/--no-fsync", default=True, show_default=True, help="Survive a power failure, not only a kill.")
@click.option("--history-bytes", default=HISTORY_BYTES, show_default=True, help="Pinned history is kept up to this.")
@click.option("--version-seconds", default=0.0, help="Row versions older than this are given up, also to a snapshot.")
@click.option("--parent-pipe", is_flag=True, help="Stop when standard input is closed, as when the parent dies.")
def start(
    store: Path,
    listen: str,
    role: Role,
    master: str,
    fsync: bool,
    history_bytes: int,
    version_seconds: float,
    parent_pipe: bool,
) -> None:
    """Run a master, a data server, or both. Prints `ready HOST:PORT` once it can be called; SIGTERM stops it."""
    if role == "data" and not master:
        raise click.UsageError("--role data needs --master HOST:PORT, the address of the store's master")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    try:
        process = StoreProcess(Options(store, listen, role, master, fsync, history_bytes, int(version_seconds * 1000)))
        process.start()
    except TailraceError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"ready {process.address}")
    if parent_pipe:
        when_parent_ends(done.set)
    while not done.wait(0.2):
        if process.shut_out.is_set():
            process.stop(0)
            raise click.ClickException("other servers have taken over from this one; start it again")
    process.stop()


dataserver.add_command(split)
dataserver.add_command(merge)
dataserver.add_command(move)
dataserver.add_command(status)

if __name__ == "__main__":
    dataserver()
