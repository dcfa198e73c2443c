"""The commands: what they do, what they print, and how they end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.cli import main as cli
from tailrace.errors import SinkAway
from tailrace.pipeline.assignment import Report
from tailrace.server.grpc.client import Client
from tailrace.testing.environment import package_environment
from tests.cli.conftest import Call, Running
from tests.server.carriers import until


def test_a_subscription_from_the_command_line(call: Call, running: Running, tmp_path: Path) -> None:
    config = tmp_path / "changefeed.toml"
    config.write_text("memory-quota = 5\n[filter]\nrules = ['shop.*', '!shop.bills']\n")
    made = call("subscribe", "orders", "--sink", "blackhole://u:hunter2@h/", "--config", str(config), "--start", "now")
    assert made.code == 0
    assert made.out == "subscribed orders: shop.orders -> blackhole://u:******@h/\n"
    assert "warning: memory-quota" in made.err
    with Client(running.address) as client:
        found = client.status("orders")[0].subscription
    assert (found.upstream, found.rules) == (running.upstream, ("shop.*", "!shop.bills"))
    assert found.start.isdigit()


def test_options_reach_the_server(call: Call, running: Running) -> None:
    options = ["--filter", "shop.bills", "--filter", "app.*", "--start", "5", "--end", "9", "--time-zone", "Asia/Tokyo"]
    given = ["--upstream", running.upstream, "--sink", "blackhole://", *options, "--server", running.address]
    assert call("subscribe", "bills", *given).code == 0
    with Client(running.address) as client:
        found = client.status("bills")[0].subscription
    assert (found.rules, found.start, found.end_ts, found.time_zone) == (("shop.bills", "app.*"), "5", 9, "Asia/Tokyo")


@pytest.mark.usefixtures("running")
def test_what_is_wrong_is_one_line_and_exit_code_1(call: Call) -> None:
    ended = call("subscribe", "no name", "--sink", "blackhole://", "--start", "x")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("tailrace: TR-1001 name: 'no name'")
    assert "start: 'x'" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["subscribe"],
        ["subscribe", "x"],
        ["subscribe", "x", "--sink", "blackhole://", "--config", "nowhere.toml"],
        ["subscribe", "x", "--sink", "blackhole://", "--nonsense"],
        ["cancel"],
        ["nonsense"],
        ["server", "--lease", "0"],
        ["server", "--conf", "novalue"],
    ],
)
def test_wrong_usage_is_exit_code_2(call: Call, arguments: list[str]) -> None:
    assert call(*arguments).code == 2


@pytest.mark.parametrize("arguments", [["status"], ["cancel", "x"], ["subscribe", "x", "--sink", "blackhole://"]])
def test_without_a_server_each_command_says_so(call: Call, arguments: list[str]) -> None:
    ended = call(*arguments, "--server", "127.0.0.1:1")
    assert ended.code == 1
    assert "no server answers at 127.0.0.1:1" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("running")
def test_cancelling_waits_for_the_end(call: Call) -> None:
    call("subscribe", "orders", "--sink", "blackhole://")
    ended = call("cancel", "orders")
    assert (ended.code, ended.out) == (0, "cancelled orders\n")
    assert call("status").out == "no subscriptions\n"
    assert "cancelled" in call("status", "--all").out
    assert "cancelled" in call("status", "orders").out
    assert call("cancel", "nobody").code == 1


def test_a_cancellation_that_takes_too_long_says_that_it_goes_on(call: Call, running: Running) -> None:
    call("subscribe", "orders", "--sink", "blackhole://")
    running.service.ask_to_stop()
    ended = call("cancel", "orders", "--wait", "0.2")
    assert ended.code == 1
    assert "not cancelled after 0.2 seconds" in ended.err
    assert call("cancel", "orders", "--wait", "0").out == "cancelling orders\n"


def test_status_shows_progress_and_errors(call: Call, running: Running) -> None:
    call("subscribe", "orders", "--sink", "blackhole://u:hunter2@h/")

    def state() -> str:
        with Client(running.address) as client:
            return client.status("orders")[0].subscription.state

    report = Report(rows=1234, bytes=3 << 20, rows_per_second=99.6, ranges=3, to_ts=5, lag_seconds=12.0)
    until(lambda: "orders" in running.service._carrier.carried)  # type: ignore[attr-defined]
    running.service.on_report("orders", report)
    running.service.on_state("orders", "warning", SinkAway("nobody answers", table="shop.orders"))
    until(lambda: state() == "warning")
    head, row, error = call("status").out.splitlines()
    assert head.split() == ["NAME", "STATE", "ROWS", "BYTES", "RATE", "SNAPSHOT", "LAG", "SINK"]
    assert row.split() == [
        "orders",
        "warning",
        "1,234",
        "3.0",
        "MiB",
        "100/s",
        "done",
        "12s",
        "blackhole://u:******@h/",
    ]
    assert error == "orders: TR-4101 nobody answers [table shop.orders]"
    (fields,) = json.loads(call("status", "orders", "--json").out)
    assert (fields["rows"], fields["error"]["code"], fields["tables"]) == (
        1234,
        "TR-4101",
        ["shop.bills", "shop.orders"],
    )
    assert 12 <= fields["lag_seconds"] < 60
    assert call("status", "nobody").code == 1


def test_watching_shows_again_until_interrupted(call: Call, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    call("subscribe", "orders", "--sink", "blackhole://")
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("tailrace.cli.status.time.sleep", sleep)
    ended = call("status", "--watch", "--json")
    assert ended.code == 0
    assert [json.loads(line)[0]["name"] for line in ended.out.splitlines()] == ["orders"] * 3


@pytest.mark.parametrize("command", ["", "server", "subscribe", "cancel", "status"])
def test_every_command_has_help(call: Call, command: str) -> None:
    ended = call(*([command] if command else []), "--help")
    assert ended.code == 0
    assert "Usage: tailrace" in ended.out


def test_a_missing_extra_breaks_only_its_own_command(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "extra", ("no_such_module_of_an_extra:command", "Needs something."))
    assert "Needs something." in call("--help").out
    ended = call("extra")
    assert ended.code == 1
    assert (
        ended.err
        == "tailrace: TR-1002 tailrace extra needs the module no_such_module_of_an_extra, which is not installed\n"
    )


def test_help_and_version_need_neither_spark_nor_the_store() -> None:
    code = "import sys; from tailrace.cli.main import tailrace; tailrace.main(['--help'], standalone_mode=False); "
    code += "print([name for name in ('pyspark', 'pyarrow', 'lmdb', 'grpc', 'sqlalchemy') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=package_environment()
    )
    assert done.stdout.splitlines()[-1] == "[]"
