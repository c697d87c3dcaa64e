"""Google credentials, and the servers that the project needs."""

import os
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.config import Settings
from pipeline.diagnosis.finding import Finding, Level

_CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"

_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_STORAGE = "https://storage.googleapis.com/"
_SECONDS = 5


def credentials(settings: Settings) -> Finding:
    """Whether Google's application default credentials are there; never what they are."""
    cure = "run `gcloud auth application-default login`"
    variable = os.environ.get(_CREDENTIALS)
    path = Path(variable) if variable else _well_known_file()
    if path.is_file():
        return Finding(Level.OK, "Google application default credentials are present")
    if variable:
        text = f"the file that {_CREDENTIALS} names does not exist"
        return Finding(Level.FAILURE, text, f"correct or unset it, or {cure}")
    if settings.vertex.project or _uses_cloud_storage(settings):
        text = "the settings name Google Cloud, but there are no application default credentials"
        return Finding(Level.FAILURE, text, cure)
    return Finding(Level.OK, "none, and none needed")


def network(settings: Settings) -> Finding:
    """Whether a package index of one's own, and the servers that the settings name, answer."""
    addresses = list(dict.fromkeys(_addresses(settings)))
    if not addresses:
        return Finding(Level.OK, "not needed by these settings")
    silent = [address for address in addresses if not _answers(address)]
    if not silent:
        return Finding(Level.OK, f"{_hosts(addresses)} can be reached")
    return Finding(
        Level.WARNING,
        f"no answer from {_hosts(silent)}",
        "check the network and HTTPS_PROXY. `make setup` needs the package index, and takes "
        "another one from UV_DEFAULT_INDEX; a run needs the others",
    )


def engine(settings: Settings) -> Finding:
    """Whether what runs the Beam components answers, where the settings say where it is."""
    beam = settings.beam
    place = beam.job_endpoint or urlsplit(beam.address).netloc
    if not place:
        return Finding(Level.OK, f"{beam.engine}: no address to ask")
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except OSError as error:
        name = "beam.job_endpoint" if beam.job_endpoint else "beam.address"
        text = f"no answer from {name} {place}: {error.strerror or error}"
        return Finding(Level.FAILURE, text, "start it there, or set beam.engine=local")
    return Finding(Level.OK, f"{beam.engine} answers at {place}")


def _well_known_file() -> Path:
    # `expanduser` leaves the ~ of a user who has no home; `Path.home` would fail.
    folder = os.environ.get("CLOUDSDK_CONFIG") or os.path.expanduser("~/.config/gcloud")
    return Path(folder) / "application_default_credentials.json"


def _uses_cloud_storage(settings: Settings) -> bool:
    paths = (
        settings.root,
        settings.data.source,
        settings.push.destination,
        settings.kubeflow.root,
        settings.vertex.root,
    )
    return any(path.startswith("gs://") for path in paths)


def _addresses(settings: Settings) -> Iterator[str]:
    yield from filter(None, map(os.environ.get, _INDEX_VARIABLES))
    if settings.data.source.startswith(("http://", "https://")):
        yield settings.data.source
    if _uses_cloud_storage(settings):
        yield _STORAGE
    for image in (settings.kubeflow.image, settings.vertex.image, settings.beam.image):
        registry, slash, _ = image.partition("/")
        if slash and "." in registry:
            yield f"https://{registry}/v2/"


def _hosts(addresses: list[str]) -> str:
    """The hosts alone: an address may hold a password."""
    return ", ".join(urlsplit(address).hostname or address for address in addresses)


def _answers(address: str) -> bool:
    request = urllib.request.Request(address, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=_SECONDS).close()
    except urllib.error.HTTPError as error:
        return error.code < 500  # It is there, even if it will not tell this to a stranger.
    except (OSError, ValueError):
        return False
    return True
