import numpy as np
import pytest
from scipy import ndimage

from pipeline import ink
from tests.support import photos


def bar(height: int, width: int, side: int = 100, level: float = 255) -> np.ndarray:
    """A light bar in the middle of a dark square."""
    picture = np.zeros((side, side), np.float32)
    top, left = (side - height) // 2, (side - width) // 2
    picture[top : top + height, left : left + width] = level
    return picture


def extent(image: np.ndarray) -> tuple[int, int]:
    rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
    return rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1


def test_centring_leaves_each_of_mnists_images_as_it_is(digits):
    for image in digits.images:
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        digit = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        np.testing.assert_array_equal(ink.centre(digit), image)


def test_what_cannot_be_centred_stays_within_the_image():
    digit = np.zeros((20, 20), np.uint8)
    digit[0] = 255
    digit[-1, 0] = 1
    image = ink.centre(digit)
    assert image.shape == (28, 28)
    assert image.sum() == digit.sum(dtype=int)


@pytest.mark.parametrize(("height", "width"), [(80, 40), (30, 90), (60, 60), (10, 6)])
def test_a_digit_fills_the_box_and_keeps_its_aspect_ratio(height, width):
    image = ink.normalize(bar(height, width) / 255)
    longer = max(height, width)
    assert extent(image) == (round(20 * height / longer), round(20 * width / longer))
    assert image.max() == 255


def test_a_hairline_becomes_a_stroke():
    line = ink.normalize(bar(90, 1) / 255)
    assert extent(line)[1] in (2, 3)
    assert line[14].sum() > 255


def test_a_line_without_width_or_height_has_an_image():
    assert ink.normalize(np.ones((1, 1), np.float32)).max() == 255


@pytest.mark.parametrize("kind", photos.KINDS)
def test_ground_and_ink_are_told_apart(digits, kind):
    picture = kind(digits.images[0]).astype(np.float32)
    found, dark = ink.find(picture)
    assert dark == (kind is not photos.chalk)
    negative, dark_too = ink.find(255 - picture)
    assert dark_too != dark
    np.testing.assert_allclose(negative, found, atol=0.02)


def test_the_ink_is_where_it_was_drawn(digits):
    drawn = photos.strokes(digits.images[0])
    found, _ = ink.find(photos.sidelight(digits.images[0]).astype(np.float32))
    both = np.minimum(drawn, found).sum()
    assert both > 0.9 * drawn.sum()
    assert both > 0.9 * found.sum()


def test_specks_are_dropped():
    picture = bar(60, 20)
    picture[5:8, 5:8] = 255
    assert not ink.find(picture)[0][:10, :10].any()


def test_what_reaches_in_from_the_border_is_dropped_unless_it_is_all_there_is():
    picture = bar(60, 20)
    picture[:, :8] = 255
    assert not ink.find(picture)[0][:, :8].any()
    alone = np.zeros((100, 100), np.float32)
    alone[30:60, :30] = 255
    assert ink.find(alone)[0].sum() == 900


def test_an_even_or_a_faintly_shaded_picture_has_no_ink():
    x, _ = np.meshgrid(np.linspace(100, 200, 80), np.arange(60))
    noise = np.random.default_rng(0).normal(0, 5, x.shape)
    for picture in (np.full((50, 50), 200.0), x, x + noise, bar(50, 50, level=20)):
        with pytest.raises(ink.NoInkError):
            ink.find(picture.astype(np.float32))


def test_marks_keep_their_shape(digits):
    found, _ = ink.find(photos.drawing(digits.images[3]).astype(np.float32))
    assert ndimage.label(found > 0.5)[1] == 1  # A zero stays one ring ...
    assert ndimage.label(found < 0.5)[1] == 2  # ... around one hole.
