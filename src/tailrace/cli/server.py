"""`tailrace server`: run a server until it is told to stop (SIGINT or SIGTERM)."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import uuid
from pathlib import Path
from types import FrameType

import click

from tailrace.cli.options import DEFAULT_SERVER
from tailrace.cli.parent import when_parent_ends
from tailrace.observe import names
from tailrace.observe.logs import say, set_up
from tailrace.progress.database import open_meta
from tailrace.server.grpc.servicer import Servicer, serve
from tailrace.server.health import pages
from tailrace.server.http_port import HttpPort
from tailrace.server.overview import Overview
from tailrace.server.service import MakesCarrier, Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

STOP_SECONDS = 5.0


@click.command()
@click.option(
    "--meta", default="sqlite:///tailrace-meta.db", show_default=True, metavar="URL", help="The meta database."
)
@click.option("--listen", default=DEFAULT_SERVER, show_default=True, metavar="HOST:PORT", help="Where to answer.")
@click.option("--http", metavar="HOST:PORT", help="Where to answer /metrics, /healthz and /readyz; port 0: a free one.")
@click.option("--master", metavar="URL", help="Spark's master; local[2 x cores, 4] when left out.")
@click.option("--driver-memory", default="512m", show_default=True, metavar="SIZE", help="Of a local Spark.")
@click.option("--spark-conf", "--conf", "conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; repeat.")
@click.option("--upstream", default="", metavar="URI", help="What a subscription without an upstream means.")
@click.option("--cluster-id", default=1, show_default=True, help="Servers of one cluster share subscriptions.")
@click.option(
    "--lease",
    type=click.FloatRange(min=1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How soon another server takes over what this one carried, when it dies.",
)
@click.option("--name", default="", metavar="NAME", help="Of this server in its cluster; made up when left out.")
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)
@click.option(
    "--port-file", type=click.Path(path_type=Path), metavar="FILE", help="Write the port here once it answers."
)
@click.option("--parent-pipe", is_flag=True, help="Stop when standard input is closed, as when the parent dies.")
def server(
    meta: str,
    listen: str,
    http: str | None,
    master: str | None,
    driver_memory: str,
    conf: tuple[str, ...],
    upstream: str,
    cluster_id: int,
    lease: float,
    name: str,
    log_format: str,
    port_file: Path | None,
    parent_pipe: bool,
) -> None:
    """Run a server: it claims subscriptions of its cluster and carries them."""
    make_carrier = _carriers(master, driver_memory, conf)
    set_up(sys.stderr, "json" if log_format == "json" else "text")
    database = open_meta(meta)
    owner = f"{name or f'{socket.gethostname()}:{os.getpid()}'}:{uuid.uuid4().hex[:8]}"
    service = Service(database, ServiceOptions(owner, cluster_id, lease, name=name or owner), make_carrier)
    subscriptions = Subscriptions(database, cluster_id, service.wake)
    http_port = HttpPort(http, pages(service, Overview(database, cluster_id))) if http else None
    answering, port = serve(Servicer(subscriptions, cluster_id, upstream), listen)
    _stop_on_signals(service)
    if parent_pipe:
        when_parent_ends(service.ask_to_stop)
    service.start()
    click.echo(f"tailrace server answers on {listen.rpartition(':')[0]}:{port}")
    if http_port is not None:
        say(logger, logging.INFO, names.HTTP_STARTED, address=http_port.address)
        click.echo(f"metrics on http://{http_port.address}/metrics")
    if port_file is not None:
        port_file.write_text(str(port))
    try:
        service.wait()
    finally:
        answering.stop(STOP_SECONDS)
        service.stop()
        if http_port is not None:
            http_port.close()
        database.close()


def _carriers(master: str | None, driver_memory: str, conf: tuple[str, ...]) -> MakesCarrier:
    pairs = dict(_pair(setting) for setting in conf)
    # Spark takes a second to import: not for a usage error, nor for --help.
    from tailrace.pipeline.conductor import Conductor
    from tailrace.pipeline.job import SparkRunner
    from tailrace.pipeline.metering import MeteredRunner
    from tailrace.pipeline.session import SessionOptions, default_master

    options = SessionOptions(master or default_master(), driver_memory, pairs)
    return lambda ledger, listener: Conductor(MeteredRunner(SparkRunner(options)), ledger, listener)


def _pair(setting: str) -> tuple[str, str]:
    key, mark, value = setting.partition("=")
    if not mark:
        raise click.BadParameter(f"{setting!r} is not KEY=VALUE", param_hint="--spark-conf")
    return key, value


def _stop_on_signals(service: Service) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        service.ask_to_stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
