"""Recognizes what files show, with the last pushed model."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from components import idx
from pipeline import images
from pipeline.serve.model import ModelError, PushedModel
from schemas import mnist

OK, FAILED = 0, 1

STDIN = "-"

_IDX_MAGICS = (b"\x1f\x8b", b"\0\0")  # gzipped and plain
_BATCH = 1000


@dataclass(frozen=True)
class Picture:
    """One image to recognize.

    Attributes:
      name: Its file, with its position where the file has more than one.
      image: uint8 [28, 28].
      notes: What was done to the file's picture.
    """

    name: str
    image: np.ndarray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """A picture with the model's answer; `probabilities` is float32 [classes]."""

    picture: Picture
    label: int
    probabilities: np.ndarray


def predict(
    files: Sequence[str],
    destination: str,
    format: Literal["table", "json"] = "table",
    *,
    transposed: bool = False,
) -> int:
    """Prints what the last pushed model sees in each picture; what is wrong goes to stderr.

    Args:
      files: PNG and JPEG pictures of one character and IDX files of images, gzipped or not; `-` is
        standard input.
      destination: Folder of versions, local or `gs://...`.
      format: `table` to read, `json` for a list of objects.
      transposed: Whether IDX files hold each image column by column.

    Returns:
      Exit code: 0, or 1 when a file or the model could not be read.
    """
    pictures, problems = _read_all(files, transposed)
    try:
        model = PushedModel.load_current(destination) if pictures else None
    except ModelError as error:
        pictures, problems = [], [*problems, str(error)]
    if pictures:
        printed = {"table": _print_table, "json": _print_json}[format]
        printed(_recognize(model, pictures), model)
    errors = Console(stderr=True, style="bold red", highlight=False, soft_wrap=True)
    for problem in problems:
        errors.print(problem, markup=False)
    return FAILED if problems else OK


def read(file: str, transposed: bool = False) -> list[Picture]:
    """The pictures in a file, or in standard input.

    Args:
      file: Its path, or `-`.
      transposed: Whether an IDX file holds each image column by column.

    Raises:
      OSError: It cannot be read.
      ImageError: It holds neither images nor IDX, or nothing is to be seen.
      IdxError: It is an IDX file, but damaged or not of images.
    """
    name = _name(file)
    content = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    if content.startswith(_IDX_MAGICS):
        rows = _read_idx(name, content)
        upright = rows.swapaxes(1, 2) if transposed else rows
        return [Picture(f"{name}[{row}]", image) for row, image in enumerate(upright)]
    prepared = images.prepare(content)
    return [Picture(name, prepared.image, prepared.notes)]


def _read_all(files: Sequence[str], transposed: bool) -> tuple[list[Picture], list[str]]:
    pictures, problems = [], []
    for file in files:
        try:
            pictures += read(file, transposed)
        except idx.IdxError as error:
            problems.append(str(error))
        except images.ImageError as error:
            problems.append(f"{_name(file)} {error}")
        except OSError as error:
            problems.append(f"{_name(file)} cannot be read: {error.strerror}")
    return pictures, problems


def _name(file: str) -> str:
    return "standard input" if file == STDIN else file


def _read_idx(name: str, content: bytes) -> np.ndarray:
    memory = idx.Storage(lambda _: io.BytesIO(content), listdir=lambda _: [], errors=())
    rows = idx.read(name, memory)
    if rows.dtype != np.uint8 or rows.shape[1:] != (mnist.HEIGHT, mnist.WIDTH):
        raise idx.IdxError(
            name,
            f"holds {rows.dtype.newbyteorder('=')} {list(rows.shape)}, must hold images: "
            f"uint8 [examples, {mnist.HEIGHT}, {mnist.WIDTH}]",
        )
    return rows


def _recognize(model: PushedModel, pictures: Sequence[Picture]) -> list[Prediction]:
    predictions = []
    for first in range(0, len(pictures), _BATCH):
        batch = pictures[first : first + _BATCH]
        probabilities, classes = model.predict(np.stack([picture.image for picture in batch]))
        predictions += map(Prediction, batch, classes.tolist(), probabilities)
    return predictions


def _print_table(predictions: Sequence[Prediction], model: PushedModel) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("picture", overflow="fold")
    table.add_column("class", style="bold")
    table.add_column("probability", justify="right")
    table.add_column("or else", justify="right")
    table.add_column("note", overflow="fold")
    for prediction in predictions:
        probabilities = prediction.probabilities
        first, second = np.argsort(-probabilities, kind="stable")[:2]
        table.add_row(
            prediction.picture.name,
            model.label_names[first],
            f"{probabilities[first]:.1%}",
            f"{model.label_names[second]} {probabilities[second]:.1%}",
            "; ".join(prediction.picture.notes),
        )
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(f"\nversion {model.version}", style="dim")


def _print_json(predictions: Sequence[Prediction], model: PushedModel) -> None:
    rows = [
        {
            "picture": prediction.picture.name,
            "class": prediction.label,
            "label": model.label_names[prediction.label],
            "probabilities": prediction.probabilities.tolist(),
            "notes": prediction.picture.notes,
            "version": model.version,
        }
        for prediction in predictions
    ]
    json.dump(rows, sys.stdout, indent=2)
    sys.stdout.write("\n")
