"""The web application: addresses, limits, errors, and the look-out for new versions."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from pipeline.serve import handlers
from pipeline.serve.guards import RateLimit, SecurityHeaders
from pipeline.serve.holder import Holder


@dataclass(frozen=True)
class Limits:
    """What one client may ask of the server, and how often the server looks for a new version.

    Attributes:
      body_bytes: Size of a request's body; a phone's photo has a few million.
      requests_per_second: Of one address.
      refresh_seconds: Between two looks at the destination.
    """

    body_bytes: int = 8 << 20
    requests_per_second: float = 1000
    refresh_seconds: float = 1


DEFAULT_LIMITS = Limits()


def create(holder: Holder, hosts: Sequence[str], limits: Limits = DEFAULT_LIMITS) -> ASGIApp:
    """Makes the application.

    Args:
      holder: Of the served version; the application has it look for new ones.
      hosts: Host names that a request may have been addressed to; `*` for any.
      limits: What a client may ask.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(holder, limits.refresh_seconds))
        yield
        watch.cancel()

    application = Starlette(
        routes=[
            Route("/", handlers.page),
            Mount("/static", StaticFiles(directory=handlers.STATIC)),
            Route("/healthz", handlers.health),
            Route("/version", handlers.version),
            Route("/recognize", handlers.recognize, methods=["POST"]),
            Route("/v1/models/{name}:predict", handlers.predict, methods=["POST"]),
            Route("/v1/models/{name}", handlers.status),
        ],
        middleware=[
            Middleware(RateLimit, per_second=limits.requests_per_second),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},
        lifespan=lifespan,
    )
    application.state.holder = holder
    application.state.limits = limits
    return SecurityHeaders(application)  # Outermost, around every error too.


async def _watch(holder: Holder, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await run_in_threadpool(holder.refresh)


async def _http_error(_: Request, error: HTTPException) -> Response:
    """TF Serving's format of an error."""
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    logging.getLogger(__name__).error("%s failed", request.url.path, exc_info=error)
    return JSONResponse({"error": "internal error; the server's log says more"}, 500)
