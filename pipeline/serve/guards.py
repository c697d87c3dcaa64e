"""What stands between the network and the application: limits and security headers."""

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

# Addresses remembered; the one that was silent for longest is forgotten first.
_ADDRESSES = 10_000


class SecurityHeaders:
    """Adds `HEADERS` to every answer, and forbids that it be kept without asking again."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RateLimit:
    """Answers 429 to a client whose token bucket is empty."""

    def __init__(
        self, app: ASGIApp, per_second: float, clock: Callable[[], float] = time.monotonic
    ):
        """Makes the guard.

        Args:
          app: What it guards.
          per_second: Requests of one address in a second, over time, and at most at once.
          clock: Seconds.
        """
        self._app = app
        self._rate = per_second
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._admits(scope["client"][0]):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": f"more than {self._rate:g} requests in a second; wait a little"},
            status_code=429,
            headers={"Retry-After": "1"},
        )
        await refusal(scope, receive, send)

    def _admits(self, address: str) -> bool:
        now = self._clock()
        tokens, since = self._buckets.pop(address, (self._rate, now))
        tokens = min(self._rate, tokens + (now - since) * self._rate)
        admitted = tokens >= 1
        self._buckets[address] = (tokens - admitted, now)
        if len(self._buckets) > _ADDRESSES:
            self._buckets.popitem(last=False)
        return admitted
