import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import augmentation, layers
from components.trainer import strategy as strategies

# (replicas, padded): 8 rows of which 5 are examples; unpadded, 4 replicas get 2, 2, 1 and none.
SPLITS = [
    (1, True),
    (2, True),
    (4, True),
    (8, True),
    (1, False),
    (2, False),
    (4, False),
    (8, False),
]


def call_in_training(layer, step=1, momentum=None):
    def call(batch):
        present = batch["weight"] > 0 if "weight" in batch else batch["label"] >= 0
        place = layers.batch_of(present, tf.constant(step, tf.int64), momentum)
        with layers.batch_scope(place):
            return layer(batch["x"], training=True)

    return call


def features(count=5, shape=(3, 4), dtype=np.float64):
    rng = np.random.default_rng(0)
    return {"x": rng.normal(3, 2, [count, *shape]).astype(dtype), "label": np.zeros(count, int)}


class TestBatchNormalization:
    @pytest.mark.parametrize(("replicas", "padded"), SPLITS)
    def test_normalizes_over_the_global_batch(self, on_replicas, replicas, padded):
        data, strategy = features(), strategies.create(f"mirrored:{replicas}")
        with strategy.scope():
            layer = layers.BatchNormalization(momentum=0.9, epsilon=0.01, dtype="float64")
            layer.build([None, 3, 4])
        output = np.concatenate(on_replicas(strategy, call_in_training(layer), data, padded=padded))
        mean, variance = data["x"].mean((0, 1)), data["x"].var((0, 1))
        expected = (data["x"] - mean) / np.sqrt(variance + 0.01)
        np.testing.assert_allclose(output[:5], expected, rtol=1e-12, atol=1e-12)
        for copy in strategy.experimental_local_results(layer.moving_mean.value):
            np.testing.assert_allclose(copy, 0.1 * mean, rtol=1e-12)
        for copy in strategy.experimental_local_results(layer.moving_variance.value):
            np.testing.assert_allclose(copy, 0.9 + 0.1 * variance, rtol=1e-12)

    def test_gradient_is_that_of_kerass_layer_on_one_device(self, on_replicas):
        data = features()

        def gradients(layer):
            def call(batch):
                with tf.GradientTape() as tape:
                    tape.watch(batch["x"])
                    output = call_in_training(layer)(batch)
                    loss = tf.reduce_sum(output**3)
                return tape.gradient(loss, [batch["x"], layer.gamma, layer.beta])

            return call

        strategy = strategies.create("mirrored:4")
        with strategy.scope():
            ours = layers.BatchNormalization(dtype="float64")
            ours.build([None, 3, 4])
        keras_s = keras.layers.BatchNormalization(dtype="float64")
        keras_s.build([None, 3, 4])
        x, gamma, beta = on_replicas(strategy, gradients(ours), data, padded=False)
        one_device = strategies.create("default")
        expected = on_replicas(one_device, gradients(keras_s), data, padded=False)
        np.testing.assert_allclose(np.concatenate(x), expected[0][0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(sum(gamma), expected[1][0], rtol=1e-10)
        np.testing.assert_allclose(sum(beta), expected[2][0], rtol=1e-10)

    def test_variance_survives_a_large_mean_in_float32(self, on_replicas):
        data = {"x": np.array([[1e4], [1e4 + 1], [1e4 + 2]], np.float32), "label": np.zeros(3, int)}
        layer = layers.BatchNormalization(momentum=0.0)
        layer.build([None, 1])
        on_replicas(strategies.create("default"), call_in_training(layer), data)
        np.testing.assert_allclose(layer.moving_variance, [2 / 3], rtol=1e-5)

    def test_channels_first(self, on_replicas):
        data = features(shape=(4, 3))
        layer = layers.BatchNormalization(axis=1, momentum=0.0, dtype="float64")
        layer.build([None, 4, 3])
        on_replicas(strategies.create("default"), call_in_training(layer), data)
        np.testing.assert_allclose(layer.moving_mean, data["x"].mean((0, 2)), rtol=1e-12)

    def test_recomputed_statistics_are_the_moments_of_all_batches(self, on_replicas):
        data, strategy = features(20), strategies.create("mirrored:2")
        with strategy.scope():
            layer = layers.BatchNormalization(dtype="float64")
            layer.build([None, 3, 4])
        layer.moving_mean.assign(np.full(4, 100.0))
        for first, last in [(0, 8), (8, 13), (13, 20)]:
            part = {name: value[first:last] for name, value in data.items()}
            on_replicas(
                strategy,
                call_in_training(layer, momentum=tf.constant(first / last, tf.float64)),
                part,
            )
        np.testing.assert_allclose(layer.moving_mean, data["x"].mean((0, 1)), rtol=1e-12)
        np.testing.assert_allclose(layer.moving_variance, data["x"].var((0, 1)), rtol=1e-12)

    def test_an_overflow_leaves_the_statistics_alone(self, on_replicas):
        data = features()
        data["x"][2, 1, 0] = np.inf
        layer = layers.BatchNormalization(dtype="float64")
        layer.build([None, 3, 4])
        on_replicas(strategies.create("default"), call_in_training(layer), data)
        np.testing.assert_array_equal(layer.moving_mean, np.zeros(4))
        np.testing.assert_array_equal(layer.moving_variance, np.ones(4))

    def test_frozen_and_at_inference_it_uses_moving_statistics(self, on_replicas):
        data = features()
        layer = layers.BatchNormalization(epsilon=0.0, dtype="float64", trainable=False)
        layer.build([None, 3, 4])
        output = on_replicas(strategies.create("default"), call_in_training(layer), data)
        np.testing.assert_allclose(output[0][:5], data["x"], rtol=1e-12)
        np.testing.assert_allclose(layer(data["x"], training=False), data["x"], rtol=1e-12)

    def test_refuses_masked_sequences(self, on_replicas):
        layer = layers.BatchNormalization(dtype="float64", name="norm")
        layer.build([None, 3, 4])
        masked = keras.layers.Masking(dtype="float64")
        call = call_in_training(lambda x, training: layer(masked(x), training=training))
        with pytest.raises(ValueError, match="'norm' cannot normalize a masked sequence"):
            on_replicas(strategies.create("default"), call, features())


class TestRandomLayers:
    LAYERS = {  # noqa: RUF012
        "dropout": (lambda: layers.Dropout(0.4, seed=3), (6,)),
        "spatial": (lambda: layers.SpatialDropout1D(0.4, seed=3), (4, 6)),
        "shift": (lambda: augmentation.RandomShift(2, seed=3), (7, 7)),
        "distortion": (lambda: augmentation.RandomDistortion(20, 0.2, 1, seed=3), (7, 7)),
    }

    def draw(self, on_replicas, kind, replicas=1, padded=True, step=1, seed=None):
        make, shape = self.LAYERS[kind]
        strategy = strategies.create(f"mirrored:{replicas}")
        with strategy.scope():
            layer = make()
            if seed is not None:
                layer.seed = seed
        data = features(5, shape, np.float32)
        output = on_replicas(strategy, call_in_training(layer, step), data, padded=padded)
        return np.concatenate(output)[:5], data["x"]

    @pytest.mark.parametrize("kind", LAYERS)
    @pytest.mark.parametrize(("replicas", "padded"), SPLITS[1:])
    def test_draws_do_not_depend_on_the_replicas(self, on_replicas, kind, replicas, padded):
        expected, _ = self.draw(on_replicas, kind)
        actual, _ = self.draw(on_replicas, kind, replicas, padded)
        # Another size of slice may be rounded in another way.
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("kind", LAYERS)
    def test_draws_differ_by_step_and_seed_and_repeat(self, on_replicas, kind):
        first, _ = self.draw(on_replicas, kind)
        np.testing.assert_array_equal(first, self.draw(on_replicas, kind)[0])
        assert (first != self.draw(on_replicas, kind, step=2)[0]).any()
        assert (first != self.draw(on_replicas, kind, seed=4)[0]).any()

    def test_dropout_drops_its_share_and_scales_the_rest(self, on_replicas):
        data = {"x": np.ones([64, 500], np.float32), "label": np.zeros(64, int)}
        call = call_in_training(layers.Dropout(0.4, seed=0))
        output = on_replicas(strategies.create("default"), call, data, batch_size=64)[0]
        assert set(np.unique(output)) == {np.float32(0), np.float32(1 / 0.6)}
        assert (output == 0).mean() == pytest.approx(0.4, abs=0.01)
        assert len({row.tobytes() for row in output}) == 64  # No two examples alike.

    def test_spatial_dropout_drops_whole_features(self, on_replicas):
        output, data = self.draw(on_replicas, "spatial")
        dropped = output == 0
        assert (dropped.all(axis=1) == dropped.any(axis=1)).all() and dropped.any()
        np.testing.assert_allclose(output[~dropped], data[~dropped] / 0.6, rtol=1e-6)

    @pytest.mark.parametrize("kind", LAYERS)
    def test_nothing_happens_at_inference(self, kind):
        make, shape = self.LAYERS[kind]
        x = features(3, shape, np.float32)["x"]
        np.testing.assert_array_equal(make()(x, training=False), x)

    def test_without_a_loop_dropout_is_kerass(self):
        output = layers.Dropout(0.4, seed=3)(np.ones([100, 100], np.float32), training=True)
        assert np.mean(np.equal(output, 0)) == pytest.approx(0.4, abs=0.03)

    def test_dropout_needs_a_seed(self, on_replicas):
        call = call_in_training(layers.Dropout(0.4, name="drop"))
        with pytest.raises(ValueError, match="'drop' needs a seed"):
            on_replicas(strategies.create("default"), call, features())


def test_layers_survive_saving(tmp_path):
    image = keras.Input([8, 8])
    x = augmentation.RandomShift(2, seed=5)(image)
    x = augmentation.RandomDistortion(10, 0.1, 1, seed=5)(x)
    x = layers.BatchNormalization(momentum=0.7)(x)
    x = layers.SpatialDropout1D(0.1, seed=6)(x)
    x = layers.Dropout(0.2, seed=7)(x)
    model = keras.Model(image, x)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for before, after in zip(model.layers, loaded.layers, strict=True):
        assert type(before) is type(after)
        assert before.get_config() == after.get_config()
