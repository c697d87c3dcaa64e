import numpy as np
import pytest
import tensorflow as tf

from components.trainer import processors
from components.trainer import strategy as strategies
from components.trainer.processors import Update


def update_of(gradients, variables=(), weight=1.0, step=1):
    return Update(
        gradients=[tf.convert_to_tensor(g, tf.float64) for g in gradients],
        variables=variables,
        weight=tf.convert_to_tensor(weight, tf.float64),
        step=tf.constant(step, tf.int64),
        ready=tf.constant(True),
    )


def values(update):
    return [gradient.numpy().tolist() for gradient in update.gradients]


class TestClipping:
    def test_by_value(self):
        clipped = processors.ClipByValue(2)(update_of([[-3.0, 1.0], [[2.5]]]))
        assert values(clipped) == [[-2, 1], [[2]]]

    def test_by_norm_of_each_variable(self):
        clipped = processors.ClipByNorm(5)(update_of([[6.0, 8.0], [3.0, 4.0], [0.0]]))
        assert values(clipped) == [[3, 4], [3, 4], [0]]

    def test_by_global_norm(self):
        clipped = processors.ClipByGlobalNorm(6.5)(update_of([[3.0, 4.0], [12.0]]))
        np.testing.assert_allclose(np.concatenate(values(clipped)), [1.5, 2, 6], rtol=1e-15)
        unclipped = processors.ClipByGlobalNorm(14)(update_of([[3.0, 4.0], [12.0]]))
        np.testing.assert_allclose(np.concatenate(values(unclipped)), [3, 4, 12], rtol=1e-15)

    def test_adaptively_unit_by_unit(self):
        kernel = tf.Variable([[3.0, 0.3], [4.0, 0.4]], dtype=tf.float64)  # Norms 5 and 0.5.
        bias = tf.Variable([0.0, 0.0], dtype=tf.float64)  # As if of norm 0.001.
        gradient = [[0.06, 0.6], [0.08, 0.8]]  # Norms 0.1, below 0.1 * 5, and 1, above 0.1 * 0.5.
        clip = processors.ClipAdaptively(ratio=0.1)
        clipped = clip(update_of([gradient, [3.0, 4.0]], [kernel, bias]))
        expected = [[0.06, 0.03], [0.08, 0.04]]
        np.testing.assert_allclose(clipped.gradients[0], expected, rtol=1e-12)
        np.testing.assert_allclose(clipped.gradients[1], [6e-5, 8e-5], rtol=1e-12)

    def test_adaptively_a_convolution_by_its_output_features(self):
        kernel = tf.Variable(np.ones([3, 3, 2, 4]), dtype=tf.float64)
        gradient = np.random.default_rng(0).normal(size=[3, 3, 2, 4])
        clipped = processors.ClipAdaptively(ratio=0.01)(update_of([gradient], [kernel]))
        norms = np.sqrt((gradient**2).sum((0, 1, 2)))
        expected = gradient * 0.01 * np.sqrt(18) / norms
        np.testing.assert_allclose(clipped.gradients[0], expected, rtol=1e-12)

    def test_adaptively_leaves_excluded_layers_and_zeros_alone(self):
        logits = tf.Variable([[1.0]], dtype=tf.float64, name="logits/kernel")
        other = tf.Variable([[1.0]], dtype=tf.float64, name="dense/kernel")
        clip = processors.ClipAdaptively(ratio=0.01, exclude=["logits"])
        assert values(clip(update_of([[[9.0]], [[0.0]]], [logits, other]))) == [[[9]], [[0]]]


def test_centralize():
    centralized = processors.Centralize()(update_of([[[1.0, 2.0], [3.0, 6.0]], [5.0, 7.0]]))
    assert values(centralized) == [[[-1, -2], [1, 2]], [5, 7]]


class TestNoise:
    def noise(self, step=1, seed=0, **arguments):
        add = processors.AddNoise(0.09, seed=seed, **arguments)
        return values(add(update_of([np.zeros(20_000), np.zeros(5)], step=step)))

    def test_variance_falls_with_the_steps(self):
        assert np.std(self.noise()[0]) == pytest.approx(0.3, rel=0.02)
        assert np.std(self.noise(step=100)[0]) == pytest.approx(0.3 / 100**0.275, rel=0.02)
        assert np.std(self.noise(step=100, gamma=0)[0]) == pytest.approx(0.3, rel=0.02)

    def test_it_depends_on_seed_step_and_variable_alone(self):
        first = self.noise()
        assert first == self.noise()
        assert first[1] != first[0][:5]
        assert first != self.noise(seed=1)
        assert first[0][0] != self.noise(step=2, gamma=0)[0][0]


class TestSkipNonfinite:
    @pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
    def test_a_bad_batch_is_dropped(self, bad):
        skipped = processors.SkipNonfinite()(update_of([[1.0, bad], [2.0]], weight=3))
        assert values(skipped) == [[0, 0], [0]]
        assert not skipped.ready and float(skipped.weight) == 0

    def test_a_good_one_is_not(self):
        kept = processors.SkipNonfinite()(update_of([[1.0], [2.0]], weight=3))
        assert values(kept) == [[1], [2]] and kept.ready and float(kept.weight) == 3


class TestAccumulate:
    def run(self, updates, batches, replicas=1):
        strategy = strategies.create(f"mirrored:{replicas}")
        with strategy.scope():
            accumulate = processors.Accumulate(batches)
            accumulate.build([tf.Variable([0.0, 0.0], dtype=tf.float64)])

        @tf.function(autograph=False)
        def step(gradient, weight):
            def on_replica():
                result = accumulate(update_of([gradient], weight=weight))
                return result.gradients[0], result.ready

            return strategy.run(on_replica)

        results = []
        for gradient, weight in updates:
            result = step(tf.constant(gradient, tf.float64), tf.constant(weight, tf.float64))
            gradients, ready = map(strategy.experimental_local_results, result)
            assert len({str(value) for value in gradients}) == 1
            results.append(gradients[0].numpy().tolist() if ready[0] else None)
        return results

    @pytest.mark.parametrize("replicas", [1, 2])
    def test_batches_count_by_their_weight(self, replicas):
        updates = [([1, 2], 3), ([5, 6], 1), ([0, 0], 2), ([4, 4], 2)]
        assert self.run(updates, 2, replicas) == [None, [2, 3], None, [2, 2]]

    def test_one_batch_is_no_change(self):
        assert self.run([([1, 2], 3), ([5, 6], 1)], 1) == [[1, 2], [5, 6]]

    def test_a_dropped_batch_adds_nothing(self):
        updates = [([1, 2], 3), ([0, 0], 0), ([0, 0], 0), ([0, 0], 0)]
        assert self.run(updates, 2) == [None, [1, 2], None, None]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: processors.ClipByValue(0), "limit must be greater than 0, got 0"),
        (lambda: processors.ClipByNorm(-1), "max_norm must be greater than 0, got -1"),
        (lambda: processors.ClipByGlobalNorm(float("nan")), "max_norm must be .* got nan"),
        (lambda: processors.ClipAdaptively(ratio=0), "ratio must be greater than 0"),
        (lambda: processors.ClipAdaptively(epsilon=0), "epsilon must be greater than 0"),
        (lambda: processors.AddNoise(0), "eta must be greater than 0"),
        (lambda: processors.Accumulate(0), "batches must be a positive integer, got 0"),
    ],
)
def test_values_out_of_range(make, message):
    with pytest.raises(ValueError, match=message):
        make()
