import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import gradients, processors
from components.trainer import strategy as strategies
from components.trainer.gradients import ProcessorError
from components.trainer.optimizers.base import apply_aggregated
from components.trainer.processors import Update


class TestWorkedExample:
    """Minimizing 3 x^2 + 2 y^2 from (1, 1) with plain SGD of rate 0.1; the gradient is (6, 4)."""

    def step(self, chain, replicas):
        strategy = strategies.create(f"mirrored:{replicas}")
        with strategy.scope():
            x = keras.Variable(1.0, dtype="float64")
            y = keras.Variable(1.0, dtype="float64")
            optimizer = keras.optimizers.SGD(0.1)
            optimizer.build([x, y])

        def loss():
            return 3 * x.value**2 + 2 * y.value**2

        @tf.function(autograph=False)
        def run():
            def on_replica():
                computed = gradients.compute(lambda: loss() / replicas, [x, y])
                one = tf.constant(1, tf.int64)
                update = Update(computed, [x, y], tf.constant(1.0), one, tf.constant(True))
                processed = gradients.process(chain, update)
                apply_aggregated(optimizer, processed.gradients, [x, y])

            strategy.run(on_replica)

        run()
        return [float(x.numpy()), float(y.numpy()), float(loss().numpy())]

    @pytest.mark.parametrize("replicas", [1, 2, 4])
    def test_without_processing(self, replicas):
        np.testing.assert_allclose(self.step([], replicas), [0.4, 0.6, 1.2], rtol=1e-7)

    @pytest.mark.parametrize("replicas", [1, 2, 4])
    def test_with_processing(self, replicas):
        # Clipped to a value of 5: (5, 4); to a norm of sqrt(41) / 2: (2.5, 2).
        chain = gradients.create(
            [
                {"name": "clip_by_value", "limit": 5.0},
                {"name": "clip_by_global_norm", "max_norm": 41**0.5 / 2},
            ]
        )
        expected = [0.75, 0.8, 3 * 0.75**2 + 2 * 0.8**2]
        np.testing.assert_allclose(self.step(chain, replicas), expected, rtol=1e-7)


class TestCompute:
    def test_rows_looked_up_twice_are_added_up(self):
        table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        weights = tf.constant([[1.0], [10.0], [100.0]])
        (gradient,) = gradients.compute(
            lambda: tf.reduce_sum(tf.gather(table, [1, 0, 1]) * weights), [table]
        )
        assert isinstance(gradient, tf.Tensor)
        assert gradient.numpy().tolist() == [[10, 10], [101, 101]]

    def test_a_variable_that_does_not_matter_has_a_gradient_of_zeros(self):
        x, other = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
        computed = gradients.compute(lambda: tf.reduce_sum(x), [x, other])
        assert [g.numpy().tolist() for g in computed] == [[1, 1], [[0]]]

    def test_scale_saves_small_gradients_in_float16(self):
        x = tf.Variable([1.0])

        def loss():  # The gradient passes through float16, where 1e-8 is 0.
            return tf.cast(tf.cast(x[0], tf.float16), tf.float32) * 1e-8

        assert gradients.compute(loss, [x])[0].numpy().tolist() == [0]
        (scaled,) = gradients.compute(loss, [x], scale=tf.constant(2.0**15))
        np.testing.assert_allclose(scaled, [1e-8], rtol=1e-3)


class TestCreate:
    def test_by_name_and_in_order(self):
        first, second = gradients.create(
            [{"name": "centralize"}, {"name": "clip_by_norm", "max_norm": 1.0}]
        )
        assert isinstance(first, processors.Centralize)
        assert isinstance(second, processors.ClipByNorm)

    def test_every_processor_can_be_named(self):
        assert sorted(processors.REGISTRY) == [
            "accumulate",
            "add_noise",
            "centralize",
            "clip_adaptively",
            "clip_by_global_norm",
            "clip_by_norm",
            "clip_by_value",
            "skip_nonfinite",
        ]

    def test_one_of_your_own(self, monkeypatch):
        monkeypatch.setattr(processors, "REGISTRY", dict(processors.REGISTRY))

        @processors.register("sign")
        def sign(update, size=1.0):
            return update.replace(gradients=[size * tf.sign(g) for g in update.gradients])

        (processor,) = gradients.create([{"name": "sign", "size": 0.5}])
        update = Update([tf.constant([-3.0, 2.0])], [], *[tf.constant(1)] * 3)
        assert processor(update).gradients[0].numpy().tolist() == [-0.5, 0.5]
        with pytest.raises(ProcessorError, match=r"sign\(update, size=1.0\): got an unexpected"):
            gradients.create([{"name": "sign", "sise": 1}])

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"name": "clip_by_nrom"}, "'clip_by_nrom' is not .*did you mean clip_by_norm"),
            ({"name": "zzz"}, "'zzz' is not a gradient processor; known: accumulate, add_noise"),
            ({"max_norm": 1.0}, "'' is not a gradient processor"),
            ({"name": "clip_by_norm"}, "clip_by_norm.*missing a required argument: 'max_norm'"),
            ({"name": "clip_by_norm", "max_nrom": 1.0}, "clip_by_norm.*max_norm"),
        ],
    )
    def test_mistakes(self, setting, message):
        with pytest.raises(ProcessorError, match=message):
            gradients.create([setting])
