"""Turns a picture of one character, a photo or a drawing, into the image that the model takes."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from pipeline import ink
from schemas import mnist

FORMATS = ("PNG", "JPEG")
MAX_PIXELS = 50_000_000

# Work is done on a copy whose longer side has at most this many pixels.
_SIDE = 400

INVERTED = "dark ink on a light ground: inverted"
SCALED = "cropped, scaled and centred as MNIST is"


class ImageError(ValueError):
    """A picture cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Prepared:
    """What the model is given.

    Attributes:
      image: uint8 [28, 28], light (255) ink on black (0).
      notes: What was done to the picture, in words.
    """

    image: np.ndarray
    notes: tuple[str, ...]


def prepare(content: bytes) -> Prepared:
    """Makes MNIST's kind of image of a picture.

    A picture of 28 x 28 pixels is taken for such an image already and is at most inverted.

    Args:
      content: A PNG or JPEG file.

    Raises:
      ImageError: It is neither, is damaged or too large, or shows nothing.
    """
    grey = _grey(content)
    size = (mnist.HEIGHT, mnist.WIDTH)
    try:
        found, dark = ink.find(grey.astype(np.float32))
    except ink.NoInkError:
        raise ImageError(
            "nothing stands out from the ground; use a picture with more contrast"
        ) from None
    notes = (INVERTED,) if dark else ()
    if grey.shape == size:
        return Prepared(255 - grey if dark else grey, notes)
    return Prepared(ink.normalize(found), (*notes, SCALED))


def _grey(content: bytes) -> np.ndarray:
    """The picture's brightness, uint8 [height, width], the right way up."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            _check_size(picture.size)
            picture.draft("L", (_SIDE, _SIDE))  # JPEG: decodes no more detail than is needed.
            ImageOps.exif_transpose(picture, in_place=True)
            plain = _plain(picture)
            plain.thumbnail((_SIDE, _SIDE), Image.Resampling.BOX)
            return np.asarray(_opaque(plain))
    except Image.UnidentifiedImageError:
        raise ImageError(f"is no picture that is known here; use {' or '.join(FORMATS)}") from None
    except Image.DecompressionBombError:
        most = MAX_PIXELS // 10**6
        raise ImageError(f"has more than {most} million pixels; make it smaller") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageError(f"cannot be decoded ({error}); save the picture again") from None


def _check_size(size: tuple[int, int]) -> None:
    """Pillow does so too, but first at a size that takes gigabytes."""
    if size[0] * size[1] > MAX_PIXELS:
        raise Image.DecompressionBombError


def _plain(picture: Image.Image) -> Image.Image:
    """In grey, or where a part is transparent in RGBA; 8 bits either way."""
    if picture.mode == "I;16":  # Pillow would clip, not scale.
        return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    return picture.convert("RGBA" if picture.has_transparency_data else "L")


def _opaque(picture: Image.Image) -> Image.Image:
    """In grey; what is transparent becomes a ground that the visible part stands out from."""
    if picture.mode == "L":
        return picture
    visible, alpha = picture.convert("L"), picture.getchannel("A")
    covered = np.asarray(alpha) > 0
    light = covered.any() and np.asarray(visible)[covered].mean() > 127
    ground = Image.new("L", picture.size, 0 if light else 255)
    return Image.composite(visible, ground, alpha)
