"""What the layers do to images; test_layers.py has what all random layers promise."""

import numpy as np
import pytest
import tensorflow as tf

from components.trainer import augmentation, layers

SIZE = 9


def alter(layer, images, step=1):
    """Calls the layer as the training loop does."""
    place = layers.batch_of(tf.ones([len(images)], bool), tf.constant(step, tf.int64))
    with layers.batch_scope(place):
        return layer(images, training=True).numpy()


def images(count=5, size=SIZE):
    return np.random.default_rng(0).uniform(size=[count, size, size]).astype(np.float32)


class Fixed(augmentation.RandomDistortion):
    """Distorts by numbers that are given, from -1 to 1, as if they had been drawn."""

    def fixed(self, images, angle=0.0, size=0.0, nodes=None):
        nodes = everywhere(0, 0) if nodes is None else nodes
        drawn = (np.array([angle, size, *np.ravel(nodes)]) + 1) / 2
        drawn = np.tile(drawn, [len(images), 1]).astype(np.float32)
        return self.alter(tf.constant(images), tf.constant(drawn)).numpy()


def everywhere(down, right):
    """The same displacement at all places."""
    return np.stack([np.full([5, 5], down), np.full([5, 5], right)])


class TestRandomShift:
    def test_moves_the_image_as_a_whole(self):
        before, shifts = images(), []
        for moved, image in zip(
            alter(augmentation.RandomShift(2, seed=3), before), before, strict=True
        ):
            padded = np.pad(image, 2)
            corners = [(r, c) for r in range(5) for c in range(5)]
            shifts += [
                (r, c)
                for r, c in corners
                if np.array_equal(padded[r : r + SIZE, c : c + SIZE], moved)
            ]
        assert len(shifts) == 5 and len(set(shifts)) > 1

    def test_is_uniform(self):
        data = np.zeros([4000, 5, 5], np.uint8)
        data[:, 2, 2] = 1
        output = alter(augmentation.RandomShift(1, seed=0), data)
        np.testing.assert_allclose(output.mean(0)[1:4, 1:4], np.full([3, 3], 1 / 9), atol=0.02)


class TestRandomDistortion:
    def test_at_zero_strength_it_does_nothing(self):
        before = images()
        np.testing.assert_array_equal(alter(augmentation.RandomDistortion(seed=0), before), before)
        np.testing.assert_array_equal(Fixed(10, 0.5, 2, seed=0).fixed(before), before)

    @pytest.mark.parametrize(("down", "right"), [(2, 0), (0, -1), (-1, 2), (0, 20)])
    def test_displaced_by_whole_pixels_it_is_exact(self, down, right):
        expected = np.zeros_like(images())
        for row in range(SIZE):
            for column in range(SIZE):
                if 0 <= row + down < SIZE and 0 <= column + right < SIZE:
                    expected[:, row, column] = images()[:, row + down, column + right]
        moved = Fixed(warp=20, seed=0).fixed(images(), nodes=everywhere(down / 20, right / 20))
        np.testing.assert_allclose(moved, expected, atol=1e-5)

    def test_between_pixels_it_interpolates(self):
        moved = Fixed(warp=1, seed=0).fixed(images(), nodes=everywhere(0.25, 0.5))
        padded = np.pad(images(), [(0, 0), (0, 1), (0, 1)])
        between = (padded[:, :, :-1] + padded[:, :, 1:]) / 2
        expected = 0.75 * between[:, :-1] + 0.25 * between[:, 1:]
        np.testing.assert_allclose(moved, expected, atol=1e-6)

    @pytest.mark.parametrize(("angle", "turns"), [(90, -1), (-90, 1), (180, 2)])
    def test_a_right_angle_turns_the_image(self, angle, turns):
        turned = Fixed(rotation=180, seed=0).fixed(images(), angle=angle / 180)
        np.testing.assert_allclose(turned, np.rot90(images(), turns, (1, 2)), atol=1e-5)

    def test_at_twice_the_size_the_middle_fills_the_image(self):
        larger = Fixed(scale=0.5, seed=0).fixed(images(), size=1)
        # From 4 pixels beside the middle, the size grows by 1.5.
        assert larger[0, 4, 4] == pytest.approx(images()[0, 4, 4], abs=1e-6)
        assert larger[0, 1, 7] == pytest.approx(images()[0, 2, 6], abs=1e-5)

    def test_a_warp_displaces_what_is_around_its_place(self):
        nodes = everywhere(0, 0)
        nodes[0, 1, 3] = 1  # Every other pixel is a place, so this one is at row 2, column 6.
        warped = Fixed(warp=1, seed=0).fixed(images(), nodes=nodes)
        assert warped[0, 2, 6] == pytest.approx(images()[0, 3, 6], abs=1e-6)
        half = (images()[0, 2, 5] + images()[0, 3, 5]) / 2
        assert warped[0, 2, 5] == pytest.approx(half, abs=1e-6)
        changed = np.argwhere(np.abs(warped[0] - images()[0]) > 1e-6)
        assert changed.min(0).tolist() == [1, 5] and changed.max(0).tolist() == [3, 7]

    @pytest.mark.parametrize("strength", [{"rotation": 30}, {"scale": 0.5}, {"warp": 2}])
    def test_each_argument_reaches_the_images_within_its_range(self, strength):
        size = 28
        layer = augmentation.RandomDistortion(**strength, seed=0)
        numbers = np.random.default_rng(0).uniform(-1, 1, [200, layer.draws]).astype(np.float32)
        rows, columns = layer._sources(size, size, tf.constant(numbers))
        y = np.arange(size)[:, None] - (size - 1) / 2
        x = y.T
        moved = np.hypot(rows - y - (size - 1) / 2, columns - x - (size - 1) / 2)
        distance = np.hypot(y, x)
        [(name, value)] = strength.items()
        most = {
            "rotation": 2 * np.sin(np.pi * value / 360) * distance,
            "scale": distance * value / abs(1 - value),
            "warp": np.sqrt(2) * value + 0 * distance,
        }[name]
        assert (moved <= most + 1e-3).all()
        assert moved.max() > 0.7 * most.max()

    def test_bytes_stay_bytes_and_halves_halves(self):
        layer = augmentation.RandomDistortion(10, 0.1, 1, seed=0)
        for dtype in (np.uint8, np.float16, np.float64):
            assert alter(layer, (200 * images()).astype(dtype)).dtype == dtype

    def test_bytes_are_rounded_to_the_nearest(self):
        before = np.random.default_rng(0).integers(0, 256, [200, SIZE, SIZE]).astype(np.uint8)
        layer = augmentation.RandomDistortion(10, 0.1, 1, seed=0)
        exact = alter(layer, before.astype(np.float64))
        assert np.abs(alter(layer, before) - exact).max() < 0.501

    def test_compiled_by_xla_it_does_the_same(self):
        layer = augmentation.RandomDistortion(10, 0.1, 1, seed=0)
        numbers = tf.random.stateless_uniform([5, layer.draws], [0, 1])
        compiled = tf.function(layer.alter, jit_compile=True)(tf.constant(images()), numbers)
        np.testing.assert_allclose(compiled, layer.alter(images(), numbers), atol=1e-5)

    @pytest.mark.parametrize(
        ("strength", "message"),
        [
            ({"rotation": -1}, "rotation must be a finite number >= 0; got -1"),
            ({"scale": 1}, "scale must be a finite number >= 0 and < 1; got 1"),
            ({"warp": "much"}, "warp must be a finite number >= 0; got 'much'"),
        ],
    )
    def test_refuses_what_it_cannot_do(self, strength, message):
        with pytest.raises(ValueError, match=message):
            augmentation.RandomDistortion(**strength, seed=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: augmentation.RandomShift(2, seed=3),
        lambda: augmentation.RandomDistortion(20, 0.2, 1, seed=3),
    ],
)
def test_without_a_loop_it_draws_too(make):
    layer, before = make(), images(50)
    first, second = layer(before, training=True), layer(before, training=True)
    assert np.not_equal(first, before).any() and np.not_equal(first, second).any()
