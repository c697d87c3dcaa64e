"""Runs the server."""

import logging
import socket

import uvicorn
from rich.console import Console

from pipeline.serve import app
from pipeline.serve.holder import Holder
from pipeline.serve.model import ModelError, PushedModel

OK, FAILED = 0, 1

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_CONNECTIONS = 256
_SECONDS_TO_FINISH = 10


def serve(destination: str, host: str = "127.0.0.1", port: int = 8501) -> int:
    """Serves the last pushed model until interrupted, and each newly pushed one in its turn.

    Args:
      destination: Folder of versions, local or `gs://...`.
      host: Address to listen at; the default is reached from this machine only.
      port: TCP port; 0 takes a free one.

    Returns:
      Exit code: 0 after an interrupt, 1 when there is nothing to serve or nowhere to listen.
    """
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("pipeline.serve").setLevel(logging.INFO)
    try:
        with listen(host, port) as listener:
            holder = Holder(destination)
            console.print(welcome(holder.current, host, listener.getsockname()[1]), markup=False)
            server(holder, host).run(sockets=[listener])
            return OK
    except KeyboardInterrupt:
        return OK
    except ModelError as error:
        console.print(str(error), style="bold red", markup=False)
    except OSError as error:
        message = f"cannot listen at {host}, port {port}: {error.strerror}; choose another --port"
        console.print(message, style="bold red", markup=False)
    return FAILED


def server(holder: Holder, host: str, limits: app.Limits = app.DEFAULT_LIMITS) -> uvicorn.Server:
    """The server of a holder's versions, not yet running.

    Args:
      holder: Of the served version.
      host: Address that it listens at.
      limits: What a client may ask.
    """
    # A page elsewhere could have its own name resolved to this machine, and read what is here.
    hosts = _LOOPBACK if host in _LOOPBACK else ["*"]
    config = uvicorn.Config(
        app.create(holder, hosts, limits),
        access_log=False,
        limit_concurrency=_CONNECTIONS,
        log_level=logging.WARNING,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        ws="none",
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """Takes a TCP port.

    Raises:
      OSError: It is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    # Its connections inherit this, which asyncio sets on none that it didn't make the socket of:
    # without it, each answer waits 40 ms for the client to acknowledge its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return listener


def welcome(model: PushedModel, host: str, port: int) -> str:
    accuracy = (
        "" if model.accuracy is None else f", accuracy {model.accuracy:.2%} on the test split"
    )
    name = f"[{host}]" if ":" in host else host
    lines = [
        f"Version {model.version}{accuracy}",
        f"Draw at http://{name}:{port}/ (Ctrl+C stops)",
    ]
    if host not in _LOOPBACK:
        lines.append("Whoever reaches this address can use it; there is no password.")
    return "\n".join(lines)
