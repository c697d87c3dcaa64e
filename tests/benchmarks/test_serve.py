"""What the benchmark of the server counts, with a server that does as it is told."""

import http.server
import threading

import pytest

from benchmarks import serve as benchmark

GOOD, REFUSED, DROPPED = b"good", b"refused", b"dropped"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen += 1
        if body == DROPPED:
            self.close_connection = True
            return
        self.send_response(200 if body == GOOD else 429)
        self.send_header("X-Model-Version", str(self.server.seen))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Says nothing."""


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer((benchmark.HOST, 0), Handler) as server:
        server.seen = 0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_each_answer_is_timed(server):
    outcome = benchmark.ask(server.server_port, "/", [GOOD] * 5)
    assert (len(outcome.seconds), outcome.lost, outcome.version) == (5, 0, "5")
    assert min(outcome.seconds) > 0


@pytest.mark.parametrize("how", [REFUSED, DROPPED])
def test_what_is_not_answered_is_lost_and_the_rest_goes_on(server, how):
    outcome = benchmark.ask(server.server_port, "/", [GOOD, how, GOOD])
    assert (len(outcome.seconds), outcome.lost) == (2, 1)


def test_it_goes_on_until_what_it_waits_for(server):
    outcome = benchmark.ask(
        server.server_port, "/", [GOOD] * 2, until=lambda outcome: outcome.version == "7"
    )
    assert len(outcome.seconds) == server.seen == 7


def test_the_row_of_the_table():
    seconds = [0.001 * number for number in range(1, 101)]
    assert str(benchmark.Outcome(seconds, lost=2)) == "102 | 50.5 | 100.0 | 2"
