"""`tailrace consume`: the files of a changefeed, ours or TiCDC's, into a database; one process, no server.

It goes on where it stopped, however it ended, and tells on standard error how far it is.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import click

from tailrace import plugins
from tailrace.change.tso import MAX_TS, moment
from tailrace.cli.consume_progress import Line
from tailrace.config import zone_named
from tailrace.config.uri import parse_uri
from tailrace.errors import ConfigError, NotFound
from tailrace.pipeline import worker
from tailrace.pipeline.assignment import Assignment
from tailrace.pipeline.runner import InProcessRunner, Runner
from tailrace.server.solo import Solo
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec

NAME = "consume"
# From the first change that any file holds.
START = "1"
# The changefeed's own filter decided what is in its files.
EVERYTHING = ("*.*",)


@click.command()
@click.argument("storage_uri")
@click.option("--into", "into", required=True, metavar="URI", help="The target, such as sqlite:///FILE.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The TOML file of the changefeed that writes the storage.",
)
@click.option("--once", is_flag=True, help="Stop at the storage's checkpoint of now.")
@click.option("--until", type=int, metavar="TS", help="Stop at this timestamp.")
@click.option("--tables", "rules", multiple=True, metavar="RULE", help="A table filter rule such as 'shop.*'; repeat.")
@click.option("--without-commit-ts", is_flag=True, help="Files without commit ts: whole, in order, at least once.")
@click.option("--time-zone", default="UTC", show_default=True, help="The changefeed's.")
@click.option(
    "--state", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where progress is kept."
)
@click.option("--spark", default="", metavar="MASTER", help="Carry pieces on Spark, such as local[4]; for large work.")
def consume(
    storage_uri: str,
    into: str,
    config: Path | None,
    once: bool,
    until: int | None,
    rules: tuple[str, ...],
    without_commit_ts: bool,
    time_zone: str,
    state: Path | None,
    spark: str,
) -> None:
    """Carry the changes in STORAGE_URI, a folder or bucket of TiCDC's layout, into a database, exactly once."""
    if once and until is not None:
        raise click.UsageError("--once and --until exclude each other")
    zone = zone_named(time_zone)
    if without_commit_ts:
        storage_uri += ("&" if "?" in storage_uri else "?") + "without-commit-ts=true"
    text = config.read_text(encoding="utf-8") if config else ""
    upstream = UpstreamSpec(storage_uri, time_zone, text)
    sink = SinkSpec(NAME, into, "", time_zone)
    _verify(sink)
    end = _checkpoint(upstream) if once else until if until is not None else MAX_TS
    line = Line(sys.stderr)
    solo = Solo(state or state_of(into), line.told, line.warned)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: solo.stop())
    done = solo.carry(Assignment(NAME, 0, upstream, sink, rules or EVERYTHING, start=START, end_ts=end), _runner(spark))
    line.close()
    when = moment(done.to_ts, zone).isoformat(timespec="milliseconds") if done.to_ts > 1 else "nothing"
    click.echo(f"consumed {done.report.rows:,} rows in {done.report.cuts:,} cuts, up to {done.to_ts} ({when})")


def state_of(into: str) -> Path:
    """Where the progress into a target is kept, when nobody says: beside an SQLite file."""
    uri = parse_uri(into)
    if uri.scheme == "sqlite":
        return Path(f"{Path(uri.path.removeprefix('/')).absolute()}-tailrace/progress.db")
    raise ConfigError(f"--state must say where the progress of a {uri.scheme}:// target is kept")


def _verify(spec: SinkSpec) -> None:
    sink = plugins.open_sink(spec)
    try:
        problems = sink.verify()
    finally:
        sink.close()
    if problems:
        raise ConfigError("; ".join(f"{each.key}: {each.message}" for each in problems))


def _checkpoint(spec: UpstreamSpec) -> int:
    found = worker.upstreams.get(spec).now()
    if found <= 1:
        raise NotFound("the storage has no metadata file yet, so nothing in it is known to be complete")
    return found


def _runner(master: str) -> Runner:
    if not master:
        return InProcessRunner()
    from tailrace.pipeline.job import SparkRunner
    from tailrace.pipeline.session import SessionOptions

    return SparkRunner(SessionOptions(master=master))
