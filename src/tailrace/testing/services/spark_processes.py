"""The processes of a cluster, which live and end as one: `python -m ... SPARK_CLASS FOLDER PORT MEMORY`.

It starts the master and the workers, and ends all of them when it is told to stop or when one of them ends. It must
never leave one behind: executors end by themselves when their worker has gone.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

WORKERS = 2
STOP_SECONDS = 5.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


def web_port_file(folder: Path) -> Path:
    """Where the port is written on which the master tells of its workers."""
    return folder / "web-port"


def run(spark_class: str, folder: Path, port: int, memory: str) -> None:
    """Returns when told to stop, or when one of the processes has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    web_port = _free_port()
    place = ["--port", str(port), "--webui-port", str(web_port)]
    processes = [_start("127.0.0.1", spark_class, MASTER, *place)]
    for number in range(WORKERS):
        own = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / f"worker-{number}"), "--webui-port", "0"]
        # Each is a machine of its own as far as Spark can tell: it attempts nothing twice on one machine.
        processes.append(_start(f"127.0.0.{2 + number}", spark_class, WORKER, *own, f"spark://127.0.0.1:{port}"))
    web_port_file(folder).write_text(str(web_port))
    try:
        while all(process.poll() is None for process in processes):
            time.sleep(0.1)
    finally:
        _end(processes)


def _start(host: str, spark_class: str, kind: str, *options: str) -> subprocess.Popen[bytes]:
    command = [spark_class, kind, "--host", host, *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=os.environ | {"SPARK_LOCAL_IP": host})


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Workers first, so that they end their executors while there still is a master to tell."""
    for process in reversed(processes):
        process.terminate()
    end = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    print(f"cluster of process {os.getpid()}", flush=True)  # noqa: T201
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
