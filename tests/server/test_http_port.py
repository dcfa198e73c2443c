"""The HTTP port answers what it was given and nothing else, and says nothing that it should not."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest

from tailrace.errors import ConfigError
from tailrace.server.http_port import Answer, HttpPort


def broken() -> Answer:
    raise ValueError("root:hunter2@db")


@pytest.fixture
def port() -> Iterator[HttpPort]:
    made = HttpPort(
        "127.0.0.1:0",
        {"/hello": lambda: Answer(b"hi\n"), "/no": lambda: Answer(b"", 503), "/broken": broken},
    )
    yield made
    made.close()


def ask(port: HttpPort, path: str, method: str = "GET") -> tuple[int, bytes, str]:
    connection = http.client.HTTPConnection(port.address, timeout=5)
    connection.request(method, path)
    answer = connection.getresponse()
    found = (answer.status, answer.read(), answer.getheader("Content-Type", ""))
    connection.close()
    return found


def test_a_page_is_answered_whatever_its_query(port: HttpPort) -> None:
    assert ask(port, "/hello?name=x") == (200, b"hi\n", "text/plain; charset=utf-8")
    assert ask(port, "/hello", "HEAD")[:2] == (200, b"")
    assert ask(port, "/no")[0] == 503


def test_another_page_names_those_that_there_are(port: HttpPort) -> None:
    status, body, _ = ask(port, "/../etc/passwd")
    assert (status, b"/hello" in body) == (404, True)
    assert ask(port, "/hello", "POST")[0] == 501


def test_a_page_that_fails_does_not_say_why(port: HttpPort, caplog: pytest.LogCaptureFixture) -> None:
    status, body, _ = ask(port, "/broken")
    assert (status, b"hunter2" in body, "the page /broken failed" in caplog.text) == (500, False, True)


def test_a_client_that_says_nothing_holds_up_nobody(port: HttpPort) -> None:
    host, _, number = port.address.partition(":")
    with socket.create_connection((host, int(number))) as silent:
        assert ask(port, "/hello")[0] == 200
        closing = threading.Thread(target=port.close)
        closing.start()
        closing.join(5)
        assert not closing.is_alive()
        silent.close()


@pytest.mark.parametrize("listen", ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "no.such.host.invalid:1", ":-1"])
def test_an_address_that_cannot_be_had_is_an_error_of_the_option(listen: str) -> None:
    with pytest.raises(ConfigError, match="--http"):
        HttpPort(listen, {})


def test_a_port_belongs_to_one(port: HttpPort) -> None:
    with pytest.raises(ConfigError, match="is it free"):
        HttpPort(port.address, {})
