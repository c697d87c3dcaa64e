"""How a server starts, where it cannot, and how it stops."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest
import requests

from pipeline.serve import server
from tests.support import serving

SERVE = """
import sys
from pipeline.serve.server import serve
sys.exit(serve(sys.argv[1], port=int(sys.argv[2])))
"""


def free_port() -> int:
    with server.listen(serving.HOST, 0) as listener:
        return listener.getsockname()[1]


def answers(address: str) -> bool:
    try:
        return requests.get(address + "/healthz").ok
    except requests.ConnectionError:
        return False


def test_it_says_where_it_is_and_stops_when_told(pushed, tmp_path):
    port = free_port()
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, pushed, str(port)], stderr=stderr, env=os.environ
        )
        try:
            serving.eventually(answers, f"http://{serving.HOST}:{port}")
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
    said = log.read_text()
    assert f"Version 10\nDraw at http://127.0.0.1:{port}/ (Ctrl+C stops)\n" in said
    assert "Traceback" not in said
    assert code == server.OK


def test_a_port_that_is_taken_is_named(pushed, capsys):
    with server.listen(serving.HOST, 0) as listener:
        port = listener.getsockname()[1]
        assert server.serve(pushed, port=port) == server.FAILED
    said = capsys.readouterr().err
    assert f"cannot listen at 127.0.0.1, port {port}: Address already in use" in said


def test_an_address_of_another_machine_is_refused(pushed, capsys):
    assert server.serve(pushed, host="192.0.2.1", port=0) == server.FAILED
    assert "cannot listen at 192.0.2.1" in capsys.readouterr().err


def test_without_a_model_it_says_what_to_do(tmp_path, capsys):
    assert server.serve(str(tmp_path), port=0) == server.FAILED
    assert "run `make run` first" in capsys.readouterr().err


def test_answers_are_not_held_back_for_the_clients_acknowledgement():
    with (
        server.listen(serving.HOST, 0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "named", "status"),
    [
        ("127.0.0.1", "elsewhere.example", 400),
        ("127.0.0.1", "localhost", 200),
        ("0.0.0.0", "elsewhere.example", 200),
    ],
)
def test_only_a_server_of_the_network_answers_to_any_name(holder, host, named, status):
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/healthz",
        "query_string": b"",
        "headers": [(b"host", named.encode())],
        "client": ("127.0.0.1", 1),
    }
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(server.server(holder, host).config.app(scope, None, send))
    assert sent[0]["status"] == status


def test_whoever_opens_the_server_to_the_network_is_told(holder):
    assert "there is no password" in server.welcome(holder.current, "0.0.0.0", 80)
    assert "password" not in server.welcome(holder.current, "127.0.0.1", 80)
    assert "http://[::1]:80/" in server.welcome(holder.current, "::1", 80)
