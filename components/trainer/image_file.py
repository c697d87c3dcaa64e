"""Images on the local disk instead of in memory."""

import os
import tempfile

import numpy as np

from schemas import mnist

_IMAGE_BYTES = mnist.HEIGHT * mnist.WIDTH


class ImageFile:
    """Decoded images in a temporary file, written once and then read by position.

    The file has no name, so that nothing is left of it when the process ends, however it ends. It
    is read, not mapped: mapped pages count as memory of the process.
    """

    def __init__(self):
        """Makes an empty one, in the folder that TMPDIR names, or the system's."""
        # Unbuffered, as `take` reads past any buffer.
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115, closed with the object
        self._count = 0

    def append(self, images: np.ndarray) -> None:
        """Adds images, uint8 [images, height, width].

        Raises:
          OSError: The disk is full.
        """
        content = memoryview(np.ascontiguousarray(images).reshape(-1))
        try:
            while content:
                content = content[self._file.write(content) :]
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror} while writing decoded images to {tempfile.gettempdir()}; name "
                "another folder in TMPDIR, or set train.cache_megabytes to hold them in memory",
            ) from error
        self._count += len(images)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Reads the images at `rows`, in their order: uint8 [rows, height, width]."""
        images = np.empty((len(rows), mnist.HEIGHT, mnist.WIDTH), np.uint8)
        places = memoryview(images.reshape(-1))
        for place, row in enumerate(rows.tolist()):
            first = place * _IMAGE_BYTES
            into = places[first : first + _IMAGE_BYTES]
            if os.preadv(self._file.fileno(), [into], row * _IMAGE_BYTES) != _IMAGE_BYTES:
                raise IndexError(f"there are {self._count} images, none at {row}")
        return images

    def __len__(self) -> int:
        return self._count
