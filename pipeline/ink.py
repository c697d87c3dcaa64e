"""Finds the ink of a digit in a grey picture, and makes of it what MNIST's images are.

MNIST fits each digit into 20 x 20 pixels, its aspect ratio kept and its edges anti-aliased, and
sets the centre of mass of the result in the middle of 28 x 28 (LeCun, Cortes and Burges, "The MNIST
database of handwritten digits").
"""

import numpy as np
from PIL import Image
from scipy import ndimage

from schemas import mnist

# The square that a digit is fitted into.
BOX = 20

# Of the 255 grey levels; what differs less from its ground is noise or a shadow.
_LEAST_CONTRAST = 25

# A mark smaller than this part of the largest one is a speck.
_SPECK = 0.05

# A pen's stroke in a large picture, scaled to 20 pixels, would be a faint hair; MNIST's strokes are
# about this wide, as a part of the digit's longer side.
_STROKE = 0.11

# Where this part of the picture is of one level, give or take so many of 255, the ground is flat.
_FLAT = 0.3
_SAME = 2

# The side of the small copy that the ground is fitted to, and the half of it that is no border.
_COARSE = 32
_INNER = 0.7


class NoInkError(ValueError):
    """The picture shows nothing that stands out from its ground."""


def find(grey: np.ndarray) -> tuple[np.ndarray, bool]:
    """Separates a digit from its ground, which may be unevenly lit.

    Args:
      grey: float [height, width], from 0 (black) to 255.

    Returns:
      The ink, float [height, width], from 0 to 1; and whether it is darker than its ground.

    Raises:
      NoInkError: There is none.
    """
    ink = grey - _ground(grey)
    dark = np.sum(np.square(ink), where=ink < 0) > np.sum(np.square(ink), where=ink > 0)
    if dark:
        ink = -ink
    peak = ndimage.gaussian_filter(ink, 1).max()
    if peak < _LEAST_CONTRAST:
        raise NoInkError("nothing stands out from the ground")
    # Half of the peak is an edge; what is between a quarter and three quarters is anti-aliased.
    marks = _marks(ink > peak / 2)
    return np.where(ndimage.maximum_filter(marks, 3), np.clip(2 * ink / peak - 0.5, 0, 1), 0), dark


def normalize(ink: np.ndarray) -> np.ndarray:
    """Fits ink into MNIST's box and centres it.

    Args:
      ink: float [height, width], from 0 to 1; not all 0.

    Returns:
      uint8 [28, 28].
    """
    fitted = _fit(_thicken(_crop(ink)))
    return centre(np.rint(fitted * (255 / fitted.max())).astype(np.uint8))


def centre(digit: np.ndarray) -> np.ndarray:
    """Sets a digit's centre of mass in the middle of 28 x 28 pixels, as far as it has room.

    Args:
      digit: uint8 [at most 28, at most 28]; not all 0.

    Returns:
      uint8 [28, 28].
    """
    size = (mnist.HEIGHT, mnist.WIDTH)
    mass = ndimage.center_of_mass(digit)
    # Pixel 14 is the middle: with it, each of MNIST's own images comes out as it is.
    top, left = (
        int(np.clip(np.rint(whole / 2 - at), 0, whole - side))
        for whole, at, side in zip(size, mass, digit.shape, strict=True)
    )
    image = np.zeros(size, np.uint8)
    image[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return image


def _ground(grey: np.ndarray) -> np.ndarray | float:
    """The ground's level: one number in a drawing or a scan, a smooth surface in a photo."""
    level = np.bincount(_rim(grey).astype(np.int64)).argmax()
    if np.mean(np.abs(grey - level) <= _SAME) >= _FLAT:
        return float(level)
    return _surface(grey)


def _surface(grey: np.ndarray) -> np.ndarray:
    """The surface of second degree that fits the border best, in the sum of absolute errors."""
    small = Image.fromarray(grey.astype(np.float32)).resize(
        (_COARSE, _COARSE), Image.Resampling.BOX
    )
    y, x = np.mgrid[-1 : 1 : _COARSE * 1j, -1 : 1 : _COARSE * 1j]
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1)
    border = np.maximum(np.abs(x), np.abs(y)) > _INNER
    basis, levels = terms[border], np.asarray(small)[border]
    weights = np.ones(len(levels))
    for _ in range(10):  # Iteratively reweighted least squares.
        fit, *_ = np.linalg.lstsq(basis * weights[:, None], levels * weights, rcond=None)
        weights = 1 / np.sqrt(np.maximum(1, np.abs(basis @ fit - levels)))
    surface = Image.fromarray((terms @ fit).astype(np.float32))
    return np.asarray(surface.resize(grey.shape[::-1], Image.Resampling.BICUBIC))


def _rim(picture: np.ndarray) -> np.ndarray:
    """The outermost pixels, one after another."""
    return np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])


def _marks(mask: np.ndarray) -> np.ndarray:
    """Without specks, and without what reaches in from the border, such as a table's edge."""
    labels, _ = ndimage.label(mask, np.ones((3, 3)))
    areas = np.bincount(labels.ravel())
    areas[0] = 0
    kept = areas >= _SPECK * areas.max()
    inside = kept.copy()
    inside[_rim(labels)] = False
    return (inside if inside.any() else kept)[labels]


def _crop(ink: np.ndarray) -> np.ndarray:
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _thicken(ink: np.ndarray) -> np.ndarray:
    # In a bar w pixels wide, the mean distance to the next pixel outside is about (w + 2) / 4.
    distances = ndimage.distance_transform_edt(np.pad(ink > 0.5, 1))
    stroke = 4 * distances[distances > 0].mean() - 2
    missing = int(_STROKE * max(ink.shape) - stroke)
    if missing < 1:
        return ink
    return ndimage.maximum_filter(np.pad(ink, (missing + 1) // 2), missing + 1)


def _fit(ink: np.ndarray) -> np.ndarray:
    scale = BOX / max(ink.shape)
    height, width = (max(1, round(side * scale)) for side in ink.shape)
    picture = Image.fromarray(ink.astype(np.float32))
    return np.asarray(picture.resize((width, height), Image.Resampling.BOX))
