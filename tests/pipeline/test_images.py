import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from pipeline import images
from tests.support import fuzz, photos


@pytest.fixture(scope="module")
def seven(digits) -> np.ndarray:
    return digits.images[0]


@pytest.fixture(scope="module")
def expected(seven) -> np.ndarray:
    """What a plain drawing of the seven becomes."""
    return images.prepare(saved(black_on_white(seven))).image


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Mean absolute difference of two images, of 255."""
    return np.abs(one.astype(int) - other).mean()


def saved(picture: Image.Image, file_format: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    picture.save(file, file_format, **options)
    return file.getvalue()


def black_on_white(seven) -> Image.Image:
    return Image.fromarray(photos.drawing(seven).astype(np.uint8))


def test_a_drawing_becomes_the_digit_that_it_was_drawn_from(digits):
    originals = digits.images[:20]
    made = [images.prepare(photos.encode(photos.drawing(image))).image for image in originals]
    assert {image.dtype for image in made} == {np.dtype(np.uint8)}
    likeness = np.corrcoef(originals.reshape(20, -1), np.reshape(made, (20, -1)))[:20, 20:]
    assert likeness.diagonal().min() > 0.8  # One pixel to the side is about so much.
    assert np.median(likeness.diagonal()) > 0.95


def test_what_was_done_is_said(seven):
    dark = images.prepare(photos.encode(photos.drawing(seven)))
    light = images.prepare(photos.encode(photos.chalk(seven)))
    assert dark.notes == (images.INVERTED, images.SCALED)
    assert light.notes == (images.SCALED,)


@pytest.mark.parametrize("file_format", ["PNG", "JPEG"])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_formats(seven, expected, file_format, mode):
    content = saved(black_on_white(seven).convert(mode), file_format)
    assert distance(images.prepare(content).image, expected) < 1


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA"])
def test_kinds_of_png(seven, expected, mode):
    picture = black_on_white(seven).convert(mode, dither=Image.Dither.NONE)
    assert distance(images.prepare(saved(picture)).image, expected) < 3


def test_a_png_of_16_bits_is_scaled_not_clipped(seven, expected):
    deep = Image.fromarray(np.asarray(black_on_white(seven)).astype(np.uint16) * 257)
    assert deep.mode == "I;16"
    np.testing.assert_array_equal(images.prepare(saved(deep)).image, expected)


def test_a_jpeg_in_the_colours_of_print(seven, expected):
    content = saved(black_on_white(seven).convert("CMYK"), "JPEG")
    assert distance(images.prepare(content).image, expected) < 1


@pytest.mark.parametrize(("level", "inverted"), [(0, True), (255, False)])
def test_what_is_transparent_is_the_ground(seven, expected, level, inverted):
    alpha = 255 - np.asarray(black_on_white(seven))
    picture = np.dstack([np.full_like(alpha, level)] * 3 + [alpha])
    prepared = images.prepare(photos.encode(picture))
    assert distance(prepared.image, expected) < 1
    assert (images.INVERTED in prepared.notes) == inverted


@pytest.mark.parametrize("file_format", ["PNG", "JPEG"])
def test_a_photo_taken_sideways_is_turned_up(seven, expected, file_format):
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: to be turned a quarter clockwise.
    turned = black_on_white(seven).transpose(Image.Transpose.ROTATE_90)
    content = saved(turned, file_format, exif=exif)
    assert distance(images.prepare(content).image, expected) < 1


def test_size_makes_no_difference(seven, expected):
    for size in (150, 400, 3000):
        content = saved(black_on_white(seven).resize((size, size)), "JPEG")
        assert distance(images.prepare(content).image, expected) < 10


def test_mnists_own_images_are_taken_as_they_are(digits):
    for image in digits.images[:200]:
        as_is = images.prepare(photos.encode(image))
        np.testing.assert_array_equal(as_is.image, image)
        assert as_is.notes == ()
        inverted = images.prepare(photos.encode(255 - image))
        np.testing.assert_array_equal(inverted.image, image)
        assert inverted.notes == (images.INVERTED,)


def test_a_picture_without_ink_is_refused():
    with pytest.raises(images.ImageError, match="nothing stands out"):
        images.prepare(photos.encode(np.full((100, 100), 200)))


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"<svg/>", bytes(1000)])
def test_what_is_no_picture_is_refused(content):
    with pytest.raises(images.ImageError, match="use PNG or JPEG"):
        images.prepare(content)


def test_other_formats_are_not_even_tried(seven):
    with pytest.raises(images.ImageError, match="use PNG or JPEG"):
        images.prepare(saved(black_on_white(seven), "TIFF"))


def test_a_truncated_picture_is_refused(seven):
    for file_format in images.FORMATS:
        content = saved(black_on_white(seven), file_format)
        with pytest.raises(images.ImageError, match="cannot be decoded"):
            images.prepare(content[: len(content) // 2])


@pytest.mark.parametrize("size", [(8000, 7000), (30000, 30000)])
def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(size):
    content = saved(Image.new("1", size))
    assert len(content) < 200_000
    with pytest.raises(images.ImageError, match="^has more than 50 million pixels"):
        images.prepare(content)


def small_png() -> bytes:
    return photos.encode(np.eye(30) * 255)


@settings(
    max_examples=fuzz.EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(content=fuzz.damaged(small_png()))
def test_fuzz_a_damaged_picture_is_refused_or_read(content):
    try:
        image = images.prepare(content).image
    except images.ImageError:
        return
    assert image.shape == (28, 28)
    assert image.dtype == np.uint8
