"""The guards, around an application that always answers."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse

from pipeline.serve import guards


def ask(app, address: str = "10.0.0.1") -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to a request from an address."""
    messages = []

    async def send(message):
        messages.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": (address, 1)}
    asyncio.run(app(scope, receive, send))
    start = messages[0]
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limited(clock):
    return guards.RateLimit(PlainTextResponse("here"), per_second=3, clock=clock)


def statuses(app, count: int, address: str = "10.0.0.1") -> list[int]:
    return [ask(app, address)[0] for _ in range(count)]


def test_a_burst_is_cut_and_time_heals(limited, clock):
    assert statuses(limited, 5) == [200, 200, 200, 429, 429]
    clock.now = 0.4  # A token comes each third of a second.
    assert statuses(limited, 2) == [200, 429]
    clock.now = 100
    assert statuses(limited, 4) == [200, 200, 200, 429]


def test_a_steady_client_is_never_refused(limited, clock):
    for _ in range(50):
        clock.now += 0.34
        assert statuses(limited, 1) == [200]


def test_one_client_does_not_use_up_what_another_may_ask(limited):
    assert statuses(limited, 4, "10.0.0.1")[-1] == 429
    assert statuses(limited, 3, "10.0.0.2") == [200, 200, 200]


def test_a_refusal_says_when_to_come_back(limited):
    statuses(limited, 3)
    status, headers = ask(limited)
    assert status == 429
    assert headers["retry-after"] == "1"


def test_memory_is_bounded(limited, monkeypatch):
    monkeypatch.setattr(guards, "_ADDRESSES", 2)
    assert statuses(limited, 3, "10.0.0.1") == [200] * 3
    for other in ("10.0.0.2", "10.0.0.3"):
        statuses(limited, 1, other)
    assert len(limited._buckets) == 2
    assert statuses(limited, 1, "10.0.0.1") == [200]  # Forgotten, hence fresh.


def test_every_answer_has_the_security_headers():
    _, headers = ask(guards.SecurityHeaders(PlainTextResponse("here")))
    for name, value in guards.HEADERS.items():
        assert headers[name.lower()] == value
    assert headers["cache-control"] == "no-cache"


def test_nothing_from_elsewhere_and_nothing_inline_may_run():
    policy = guards.HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
