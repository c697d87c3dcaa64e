import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import inputs, layers, losses, models, processors
from components.trainer import strategy as strategies
from components.trainer.checks import LayerError
from components.trainer.loop import TrainingLoop
from components.trainer.losses import LossError
from components.trainer.optimizers.base import evaluation_weights
from components.trainer.optimizers.schedule_free_adamw import ScheduleFreeAdamW

# One chain of everything that changes gradients, of which noise and clipping see the same batch.
CHAIN = (
    lambda: processors.SkipNonfinite(),
    lambda: processors.AddNoise(1e-4, seed=3),
    lambda: processors.ClipByGlobalNorm(0.5),
)

# Arguments with which models take training images as they are, and a large one gets small.
UNALTERED = {
    "cnn": {"shift": 0},
    "small_cnn": {"shift": 0},
    "deep_cnn": {"filters": [8, 8, 8, 16], "shift": 0, "rotation": 0, "scale": 0, "warp": 0},
}


def small(seed=0, l2=0.0, dropout=0.5, dtype="float64"):
    """A model with one layer of each kind that looks at the whole batch."""
    kernel = {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=seed),
        "kernel_regularizer": keras.regularizers.L2(l2),
        "dtype": dtype,
    }
    image = keras.Input([28, 28], name="image", dtype="uint8")
    x = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255, dtype=dtype)(image))
    x = keras.layers.Dense(6, activity_regularizer="l2", name="below", **kernel)(x)
    x = layers.BatchNormalization(dtype=dtype)(x)
    x = layers.Dropout(dropout, seed=seed, dtype=dtype)(x)
    return keras.Model({"image": image}, {"logits": keras.layers.Dense(10, **kernel)(x)})


def make(name="mlp", replicas=1, optimizer=None, loop=None, **model):
    strategy = strategies.create(f"mirrored:{replicas}" if replicas > 1 else "default")
    with strategy.scope():
        built = small(**model) if name == "small" else models.create(name, **model)
        optimizer = optimizer() if optimizer else keras.optimizers.SGD(0.1, momentum=0.9)
    return TrainingLoop(built, optimizer, strategy=strategy, **(loop or {}))


def batches(loop, data, batch_size, repeat=True, **options):
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(batch_size)
    dataset = dataset.repeat() if repeat else dataset
    return inputs.distribute(loop.strategy, dataset, batch_size, **options)


def weights(loop):
    return [v.numpy() for v in loop.model.variables if "seed_generator" not in v.path]


def assert_same(actual, expected, tolerance=0.0):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


class TestTrain:
    @pytest.mark.parametrize("name", models.names())
    def test_memorises_a_batch(self, name, examples):
        adam = lambda: keras.optimizers.Adam(0.003)  # noqa: E731
        loop = make(name, optimizer=adam, dropout=0.0, **UNALTERED.get(name, {}))
        data = examples(16)
        # The moving statistics of four normalizations, one on the other, take longer.
        steps = 500 if name == "deep_cnn" else 120
        metrics = loop.train(iter(batches(loop, data, 16)), steps)
        assert metrics["skipped"] == 0
        assert loop.evaluate(batches(loop, data, 16, repeat=False))["accuracy"] == 1

    def test_averages_are_over_examples(self, examples):
        """Batches of 4, 4 and 2 examples, with weights, at a learning rate of 0."""
        data = {**examples(10), "weight": np.linspace(0, 2, 10).astype(np.float32)}
        loop = make(
            optimizer=lambda: keras.optimizers.SGD(0.0),
            dropout=0.0,
            l2=0.01,
            dtype="float64",
            loop={"class_weights": {3: 2.5}, "steps_per_call": 2},
        )
        metrics = loop.train(iter(batches(loop, data, 4)), 3)
        logits = models.logits(loop.model)(data["image"]).numpy()
        each = losses.cross_entropy(data, logits).numpy()
        weight = data["weight"] * np.where(data["label"] == 3, 2.5, 1)
        hit = logits.argmax(-1) == data["label"]
        penalty = sum(
            0.01 * (v.numpy() ** 2).sum() for v in loop.model.variables if "kernel" in v.path
        )
        assert metrics == pytest.approx(
            {
                "loss": np.average(each, weights=weight),
                "accuracy": np.average(hit, weights=data["weight"]),
                "regularization": penalty,
                "skipped": 0,
            },
            rel=1e-12,
        )
        assert int(loop.step.numpy()) == 3

    def test_steps_per_call_changes_nothing(self, examples):
        data, results = examples(40), []
        for steps_per_call in (1, 3, 40):
            loop = make(loop={"steps_per_call": steps_per_call})
            loop.train(iter(batches(loop, data, 8)), 7)
            results.append(weights(loop))
        assert_same(results[1], results[0])
        assert_same(results[2], results[0])

    def test_repeats_bit_for_bit(self, examples):
        runs = []
        for seed in (1, 1, 2):
            loop = make("cnn", seed=seed)
            loop.train(iter(batches(loop, examples(24), 8)), 5)
            runs.append(weights(loop))
        assert_same(runs[1], runs[0])
        assert any((a != b).any() for a, b in zip(runs[0], runs[2], strict=True))

    def test_a_loss_that_is_not_finite_shows(self, examples):
        data = {**examples(8), "weight": np.full(8, np.inf, np.float32)}
        loop = make()
        assert not np.isfinite(loop.train(iter(batches(loop, data, 8)), 1)["loss"])

    def test_dropped_steps_are_counted_and_left_out(self, examples):
        data = {**examples(24), "weight": np.ones(24, np.float32)}
        data["weight"][9] = np.inf
        loop = make(loop={"processors": [processors.SkipNonfinite()]})
        metrics = loop.train(iter(batches(loop, data, 8)), 6)
        assert metrics["skipped"] == 2 and np.isfinite(metrics["loss"])
        assert all(np.isfinite(value).all() for value in weights(loop))

    def test_float16_with_a_loss_scale_learns(self, examples):
        adam = lambda: keras.optimizers.Adam(0.003)  # noqa: E731
        loop = make("mlp", optimizer=adam, dtype="mixed_float16", dropout=0.0)
        assert [type(p).__name__ for p in loop.processors] == ["LossScale"]
        data = examples(16)
        before = loop.evaluate(batches(loop, data, 16, repeat=False))["loss"]
        metrics = loop.train(iter(batches(loop, data, 16)), 40)
        assert metrics["skipped"] < 10
        assert loop.evaluate(batches(loop, data, 16, repeat=False))["loss"] < before / 2

    def test_the_data_ends(self, examples):
        loop = make()
        with pytest.raises(ValueError, match="data ended in step 3, before 5 steps.*repeat"):
            loop.train(iter(batches(loop, examples(16), 8, repeat=False)), 5)


class TestCompiled:
    """XLA on one device stands for the TPU: static shapes, and nothing that can't be compiled."""

    @pytest.mark.parametrize(
        ("name", "model"),
        [("cnn", {"dropout": 0.0, "shift": 0, "dtype": "float64"}), ("small", {"dropout": 0.0})],
    )
    def test_gives_the_same_weights(self, name, model, examples):
        data, results = examples(20), []
        for jit_compile in (False, True):
            chain = [processors.SkipNonfinite(), processors.ClipByGlobalNorm(0.5)]
            options = {"jit_compile": jit_compile, "processors": chain}
            loop = make(name, loop=options, **model)
            loop.train(iter(batches(loop, data, 8)), 5)
            results.append(weights(loop))
        assert_same(results[1], results[0], 1e-11)

    def test_random_layers_and_noise_repeat(self, examples):
        results = []
        for _ in range(2):
            chain = [processors.AddNoise(1e-4), processors.Accumulate(2)]
            loop = make("small", loop={"jit_compile": True, "processors": chain})
            loop.train(iter(batches(loop, examples(20), 8)), 4)
            results.append(weights(loop))
        assert_same(results[1], results[0])

    def test_not_under_mirrored_strategy(self):
        with pytest.raises(ValueError, match="jit_compile works on one device or a TPU, not with "):
            make(replicas=2, loop={"jit_compile": True})


class TestReplicas:
    """What `pipeline.replica_cases` has no case for, or only one by one."""

    @pytest.mark.parametrize("padded", [True, False])
    def test_everything_at_once(self, padded, examples):
        """A model with all kinds of layers, partial batches, processors, accumulation."""
        data = {**examples(21), "weight": np.linspace(0.1, 2, 21)}
        results = []
        for replicas in (1, 4):
            chain = [make_one() for make_one in CHAIN] + [processors.Accumulate(2)]
            options = {"processors": chain, "class_weights": {1: 0.3, 2: 4.0}}
            loop = make("small", replicas, l2=0.01, loop=options)
            metrics = loop.train(iter(batches(loop, data, 16, padded=padded)), 8)
            evaluated = loop.evaluate(batches(loop, data, 16, repeat=False, padded=padded))
            results.append([*weights(loop), *metrics.values(), *evaluated.values()])
        assert_same(results[1], results[0], 1e-11)

    def test_float16_decides_alike_on_all_replicas(self, examples):
        data = {**examples(16), "weight": np.ones(16, np.float32)}
        data["weight"][15] = np.inf  # On the last replica.
        loop = make("mlp", 4, dtype="mixed_float16")
        assert loop.train(iter(batches(loop, data, 16)), 3)["skipped"] == 3
        for variable in loop.model.trainable_variables:
            copies = loop.strategy.experimental_local_results(variable.value)
            assert all(np.isfinite(copy).all() for copy in copies)


class TestEvaluate:
    @pytest.mark.parametrize(("replicas", "padded"), [(1, True), (4, True), (4, False)])
    def test_counts_each_example_once(self, replicas, padded, examples):
        data = examples(21)
        loop = make(replicas=replicas, dtype="float64", l2=0.01)
        metrics = loop.evaluate(batches(loop, data, 8, repeat=False, padded=padded))
        logits = models.logits(loop.model)(data["image"]).numpy()
        assert metrics["loss"] == pytest.approx(
            losses.cross_entropy(data, logits).numpy().mean(), rel=1e-12
        )
        assert metrics["accuracy"] == pytest.approx((logits.argmax(-1) == data["label"]).mean())

    def test_nothing_to_evaluate(self, examples):
        loop = make()
        with pytest.raises(ValueError, match="no examples"):
            loop.evaluate(batches(loop, examples(0), 8, repeat=False))


class TestRecalibrate:
    def loop(self, optimizer, replicas=1):
        return make("small", replicas, optimizer, dropout=0.0)

    def statistics(self, loop):
        (layer,) = [x for x in loop.model.layers if isinstance(x, layers.BatchNormalization)]
        return np.array([layer.moving_mean, layer.moving_variance])

    @pytest.mark.parametrize(("replicas", "padded"), [(1, True), (4, True), (4, False)])
    def test_statistics_are_those_of_the_evaluation_weights(self, replicas, padded, examples):
        data = examples(21)
        loop = self.loop(lambda: ScheduleFreeAdamW(0.01), replicas)
        loop.train(iter(batches(loop, data, 8)), 4)
        with evaluation_weights(loop.optimizer):
            loop.recalibrate(batches(loop, data, 8, repeat=False, padded=padded))
            below = loop.model.get_layer("below").output
            features = keras.Model(loop.model.input, below)({"image": data["image"]}).numpy()
            expected = [features.mean(0), features.var(0)]
            np.testing.assert_allclose(self.statistics(loop), expected, rtol=1e-10)

    def test_nothing_to_do_for_an_optimizer_with_one_set_of_weights(self, examples):
        loop = self.loop(None)
        loop.train(iter(batches(loop, examples(16), 8)), 2)
        before = self.statistics(loop)
        loop.recalibrate(batches(loop, examples(16), 8, repeat=False))
        np.testing.assert_array_equal(self.statistics(loop), before)


class TestCheckpoint:
    @pytest.mark.parametrize("other", [1, 4])
    def test_goes_on_as_if_never_stopped(self, other, examples, tmp_path):
        """Also on another number of replicas."""
        data = examples(24)

        def new(replicas):
            chain = [processors.SkipNonfinite(), processors.Accumulate(3)]
            chain.append(processors.AddNoise(1e-4))
            options = {"processors": chain}
            return make("small", replicas, lambda: ScheduleFreeAdamW(0.01), loop=options)

        straight = new(1)
        straight.train(iter(batches(straight, data, 8)), 9)
        first = new(1)
        first.train(iter(batches(first, data, 8)), 5)
        path = tf.train.Checkpoint(loop=first).write(str(tmp_path / "checkpoint"))
        second = new(other)
        tf.train.Checkpoint(loop=second).read(path).assert_consumed()
        dataset = tf.data.Dataset.from_tensor_slices(data).batch(8).repeat().skip(5)
        second.train(iter(inputs.distribute(second.strategy, dataset, 8)), 4)
        assert_same(weights(second), weights(straight), 0.0 if other == 1 else 1e-11)


class TestErrors:
    @pytest.mark.parametrize("steps", [0, -1])
    def test_steps(self, steps, examples):
        loop = make()
        with pytest.raises(ValueError, match=f"steps must be a positive integer, got {steps}"):
            loop.train(iter(batches(loop, examples(8), 8)), steps)
        with pytest.raises(ValueError, match=f"steps_per_call must be a positive.*{steps}"):
            make(loop={"steps_per_call": steps})

    @pytest.mark.parametrize("weight", [{10: 1.0}, {-1: 1.0}, {0: -1.0}, {0: float("inf")}])
    def test_class_weights(self, weight):
        (label, value) = next(iter(weight.items()))
        with pytest.raises(ValueError, match=f"classes 0 to 9 .* got {value} for class {label}"):
            make(loop={"class_weights": weight})

    def test_a_reduced_loss(self, examples):
        reduced = {
            "logits": lambda batch, logits: tf.reduce_mean(losses.cross_entropy(batch, logits))
        }
        loop = make(loop={"loss": reduced})
        with pytest.raises(LossError, match=r"the loss of 'logits' .*shape \[8\], got shape \(\)"):
            loop.train(iter(batches(loop, examples(8), 8)), 1)

    def test_a_layer_that_would_be_wrong(self):
        image = keras.Input([28, 28], name="image", dtype="uint8")
        x = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(image))
        x = keras.layers.Dense(10)(keras.layers.BatchNormalization(name="plain")(x))
        model = keras.Model({"image": image}, {"logits": x})
        with pytest.raises(LayerError, match="'plain'"):
            TrainingLoop(model, keras.optimizers.SGD(0.1), strategy=strategies.create("default"))
