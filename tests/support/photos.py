"""Pictures of digits as people make them, rendered from MNIST's images."""

import io

import numpy as np
from PIL import Image
from scipy import ndimage

SIDE = 400


def encode(grey: np.ndarray, file_format: str = "PNG", **options) -> bytes:
    """A picture file from levels [height, width] or [height, width, channels] of 0 to 255."""
    file = io.BytesIO()
    Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8)).save(
        file, file_format, **options
    )
    return file.getvalue()


def strokes(image: np.ndarray, side: int = 220, top: int = 60, left: int = 120) -> np.ndarray:
    """One of MNIST's images, enlarged, with sharp edges; ink from 0 to 1, [400, 400]."""
    large = Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC)
    picture = np.zeros((SIDE, SIDE))
    picture[top : top + side, left : left + side] = np.clip(np.asarray(large) / 255 * 3 - 1, 0, 1)
    return picture


def drawing(image: np.ndarray) -> np.ndarray:
    """Black on white."""
    return 255 * (1 - strokes(image))


def cutting(image: np.ndarray) -> np.ndarray:
    """The same, cropped to the digit."""
    inked = strokes(image)
    rows, columns = (np.flatnonzero(inked.any(axis=axis)) for axis in (1, 0))
    return 255 * (1 - inked[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])


def sidelight(image: np.ndarray) -> np.ndarray:
    """Pen on paper that is more than twice as bright on one side as on the other."""
    x, y = _coordinates()
    return _grain((145 - 55 * x - 20 * y) * (1 - 0.65 * strokes(image)))


def vignette(image: np.ndarray) -> np.ndarray:
    """Paper that is darker to its corners."""
    x, y = _coordinates()
    return _grain((220 - 70 * (x**2 + y**2)) * (1 - 0.6 * strokes(image)))


def shadow(image: np.ndarray) -> np.ndarray:
    """A shadow with an edge falls on a part of the paper."""
    x, y = _coordinates()
    shade = 1 - 0.4 / (1 + np.exp(-30 * (x + 0.4 * y - 0.2)))
    return _grain(215 * shade * (1 - 0.75 * strokes(image)))


def table(image: np.ndarray) -> np.ndarray:
    """The paper does not fill the picture."""
    picture = 215 * (1 - 0.7 * strokes(image, side=200, top=120, left=130))
    picture[:, :40], picture[370:] = 90, 70
    return _grain(picture)


def thin_pen(image: np.ndarray) -> np.ndarray:
    """A line of 5 pixels."""
    depth = ndimage.distance_transform_edt(strokes(image, side=250, top=60, left=120) > 0.5)
    ridge = (depth >= ndimage.maximum_filter(depth, 3) - 0.01) & (depth > 3)
    line = ndimage.gaussian_filter(ndimage.maximum_filter(ridge.astype(float), 5), 0.7)
    x, _ = _coordinates()
    return _grain((190 - 30 * x) * (1 - 0.7 * line))


def chalk(image: np.ndarray) -> np.ndarray:
    """Light on a blackboard."""
    return _grain(40 + 150 * strokes(image))


KINDS = (drawing, cutting, sidelight, vignette, shadow, table, thin_pen, chalk)


def _coordinates() -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    return x, y


def _grain(picture: np.ndarray) -> np.ndarray:
    return picture + np.random.default_rng(0).normal(0, 4, picture.shape)
