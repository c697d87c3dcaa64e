"""The base: hyperparameters, configuration, and how training loops call an optimizer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import optimizers
from components.trainer.optimizers import base
from tests.components.trainer.optimizers import problem
from tests.components.trainer.optimizers.problem import Training


class Forgetful(base.Optimizer):
    """Keeps no attribute for one of its arguments."""

    def __init__(self, learning_rate=0.1, strength=2.0, name="forgetful"):
        super().__init__(learning_rate, name=name)

    def direction(self, gradient, variable, slot, h):
        return gradient


class Idle(base.Optimizer):
    """Does not say where to go."""


def test_config_cannot_forget_an_argument():
    with pytest.raises(AttributeError, match=r"Forgetful.__init__ takes strength and keeps no"):
        Forgetful().get_config()


def test_method_without_direction_says_so():
    weight = keras.Variable([1.0])
    with pytest.raises(NotImplementedError, match=r"Idle must define direction\(\) or update\(\)"):
        Idle(0.1).apply([tf.constant([1.0])], [weight])


@pytest.mark.parametrize("value", [1, np.float32(0.5), np.int64(2), 0])
def test_learning_rate_takes_any_number(value):
    optimizer = optimizers.create("sgd", learning_rate=value)
    assert float(optimizer.learning_rate.numpy()) == float(value)


def test_learning_rate_is_kept_in_float64():
    optimizer = optimizers.create("sgd", learning_rate=0.1)
    assert float(optimizer.learning_rate.numpy()) == 0.1
    optimizer.learning_rate = 0.3
    assert optimizer.get_config()["learning_rate"] == 0.3


def test_learning_rate_set_between_steps_is_seen_by_a_compiled_function():
    weight, optimizer = keras.Variable([0.0]), optimizers.create("sgd", momentum=0)
    optimizer.build([weight])
    step = tf.function(lambda: optimizer.apply([tf.constant([1.0])], [weight]))
    for rate in (0.5, 0.25):
        optimizer.learning_rate = rate
        step()
    assert weight.numpy() == [-0.75]


@pytest.mark.parametrize("value", [-1, "fast"])
def test_learning_rate_cannot_be_set_to(value):
    optimizer = optimizers.create("sgd")
    with pytest.raises(ValueError, match="learning_rate must be a finite number >= 0"):
        optimizer.learning_rate = value


def test_schedule_cannot_be_set():
    schedule = keras.optimizers.schedules.CosineDecay(0.1, 10)
    optimizer = optimizers.create("sgd", learning_rate=schedule)
    with pytest.raises(TypeError, match="make a new one with a number"):
        optimizer.learning_rate = 0.1


def test_keras_callback_sets_the_learning_rate():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizers.create("sgd"), loss="mse")
    callback = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    model.fit(np.ones((4, 1)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[callback])
    assert float(model.optimizer.learning_rate.numpy()) == 0.01 / 8


def test_any_hyperparameter_can_be_a_schedule():
    """The momentum here; the config keeps it."""
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.5, 0.25])
    optimizer = optimizers.create("sgd", learning_rate=1.0, momentum=schedule, nesterov=False)
    weight = keras.Variable([0.0])
    for _ in range(3):
        optimizer.apply([tf.constant([1.0])], [weight])
    assert weight.numpy() == [-(1 + 1.5 + (0.25 * 1.5 + 1))]
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.momentum.get_config() == schedule.get_config()


def test_exclusion_comes_before_the_build():
    optimizer = optimizers.create("sgd")
    optimizer.build([keras.Variable([1.0])])
    with pytest.raises(ValueError, match="before the optimizer is built"):
        optimizer.exclude_from_weight_decay(var_names=["bias"])


def test_exclusion_of_a_variable_means_that_path_alone():
    dense = [keras.Variable([1.0], name=name) for name in ("kernel", "kernel_2")]
    optimizer = optimizers.create("sgd")
    optimizer.exclude_from_weight_decay(var_list=dense[:1], var_names=["^bias"])
    assert optimizer.weight_decay_exclude == ("^kernel$", "^bias")
    assert [optimizer.is_decayed(v) for v in dense] == [False, True]


def test_variables_may_be_plain_tensorflow():
    weight = tf.Variable([1.0], name="weight")
    optimizers.create("sgd", learning_rate=0.5, momentum=0).apply([tf.constant([1.0])], [weight])
    assert weight.numpy() == [0.5]


def test_gradients_alone_go_to_the_variables_it_was_built_for():
    weight, optimizer = keras.Variable([1.0]), optimizers.create("sgd", learning_rate=1, momentum=0)
    optimizer.build([weight])
    optimizer.apply([tf.constant([0.25])])
    assert weight.numpy() == [0.75]


@pytest.mark.parametrize("name", ["keras:SGD", "keras:Adam", "keras:Nadam", "keras:Lion"])
def test_optimizers_of_keras_take_aggregated_gradients_as_they_are(name):
    """As on one replica, where Keras has nothing to sum; clipped after the sum."""
    arguments = {"learning_rate": 0.01, "global_clipnorm": 0.1}
    expected = Training(lambda: optimizers.create(name, **arguments)).run(20)
    for replicas in (2, 4):
        path = Training(lambda: optimizers.create(name, **arguments), replicas).run(20)
        np.testing.assert_array_equal(path, expected)


def test_keras_gets_infinite_gradients_too():
    """Zeros of the other replicas must not make NaN of them."""
    strategy = problem.strategy_of(2)
    with strategy.scope():
        weight = keras.Variable([1.0])
        optimizer = keras.optimizers.SGD(1.0)
        optimizer.build([weight])
    strategy.run(lambda: base.apply_aggregated(optimizer, [tf.constant([np.inf])], [weight]))
    assert weight.numpy() == [-np.inf]


def test_keras_gets_sparse_gradients_summed():
    """Adam of Keras takes repeated indices one after the other."""
    sparse = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 0]), tf.constant([2, 1]))
    results = []
    for gradient in (sparse, tf.constant([[3.0], [0.0]])):
        weight, optimizer = keras.Variable([[1.0], [1.0]]), keras.optimizers.Adam()
        for _ in range(2):
            base.apply_aggregated(optimizer, [gradient], [weight])
        results.append(weight.numpy())
    np.testing.assert_array_equal(results[0], results[1])


def test_evaluation_weights_do_nothing_where_there_is_one_set():
    for optimizer in (optimizers.create("sgd"), keras.optimizers.Adam()):
        weight = keras.Variable([1.0])
        optimizer.apply([tf.constant([1.0])], [weight])
        before = weight.numpy()
        with base.evaluation_weights(optimizer):
            assert weight.numpy() == before


def test_loss_scale_optimizer_is_looked_into():
    inner = optimizers.create("schedule_free_adamw", learning_rate=0.5)
    weight = keras.Variable([1.0])
    outer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=1.0)
    for gradient in (1.0, -1.0):
        outer.apply([tf.constant([gradient])], [weight])
    y, x = weight.numpy(), inner.slots_of(weight).x.numpy()
    assert x != y
    with base.evaluation_weights(outer):
        assert weight.numpy() == x
    assert weight.numpy() == y


@pytest.mark.parametrize("name", ["schedule_free_adamw", "prodigy"])
def test_fit_under_a_strategy_sums_the_gradients_of_replicas(name):
    """With full batches Keras's loss is right, so one and two replicas must agree."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 6)), rng.normal(size=(64, 3))
    weights = []
    for replicas in (1, 2):
        with problem.strategy_of(replicas).scope():
            layer = keras.layers.Dense(
                3, kernel_initializer="ones", kernel_constraint="non_neg", dtype="float64"
            )
            model = keras.Sequential([keras.Input((6,), dtype="float64"), layer])
            optimizer = optimizers.create(name, learning_rate=0.5)
            model.compile(optimizer, loss=keras.losses.MeanSquaredError(dtype="float64"))
        model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for one, two in zip(*weights, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-13)
