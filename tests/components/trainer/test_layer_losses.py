import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import layer_losses
from components.trainer import strategy as strategies
from components.trainer.losses import LossError


class Penalty(keras.Layer):
    """Adds `penalty` of its input to the loss."""

    def __init__(self, penalty, **arguments):
        super().__init__(**arguments)
        self._penalty = penalty

    def call(self, inputs):
        self.add_loss(self._penalty(inputs))
        return inputs


class Double(keras.Layer):
    """Doubles its input, and makes the replicas wait for each other."""

    def call(self, inputs):
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        return inputs + inputs * strategies.sum_over_replicas(tf.constant(1 / replicas))

    def compute_output_shape(self, shape):
        return shape


def recorded(model, on_replicas, strategy, data, padded=True):
    """What the layers added for each example, in the order of the global batch."""

    def call(batch):
        return layer_losses.call(model, batch["x"])[1]

    with layer_losses.recording(model):
        added = on_replicas(strategy, call, data, padded=padded)
    return np.concatenate(added)[: len(data["label"])]


def data(count=5):
    x = np.random.default_rng(0).normal(size=[count, 4]).astype(np.float32)
    return {"x": x, "label": np.zeros(count, int)}


@pytest.mark.parametrize(("replicas", "padded"), [(1, True), (4, True), (4, False)])
def test_penalties_of_each_example(on_replicas, replicas, padded):
    """Activity regularizers and add_loss, of nested layers and of one called twice.

    `Double` makes the replicas meet in between, so that their calls of the layers interleave.
    """
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        twice = keras.layers.Activation("linear", activity_regularizer=keras.regularizers.L2(1.0))
        inner_input = keras.Input([4])
        inner = keras.Model(inner_input, Penalty(lambda x: tf.reduce_sum(x, axis=-1))(inner_input))
        x = keras.Input([4])
        y = inner(twice(Double()(twice(x))))
        model = keras.Model(x, y)
    x = data()["x"].astype(float)
    expected = (x**2).sum(-1) + ((2 * x) ** 2).sum(-1) + (2 * x).sum(-1)
    np.testing.assert_allclose(
        recorded(model, on_replicas, strategy, data(), padded), expected, rtol=1e-5
    )


def test_a_model_that_adds_nothing(on_replicas):
    x = keras.Input([4])
    model = keras.Model(x, keras.layers.Dense(2)(x))
    with layer_losses.recording(model):
        assert layer_losses.call(model, np.ones([3, 4]))[1] == 0.0


@pytest.mark.parametrize("reduce", [tf.reduce_mean, tf.reduce_sum])
def test_a_reduced_loss_is_an_error_that_names_the_layer(on_replicas, reduce):
    x = keras.Input([4])
    model = keras.Model(x, Penalty(lambda x: reduce(x), name="sparse")(x))
    with pytest.raises(LossError, match="what layer 'sparse' gives to add_loss.*per example"):
        recorded(model, on_replicas, strategies.create("default"), data())


def test_the_model_is_left_as_it_was():
    regularizer = keras.regularizers.L1(1.0)
    x = keras.Input([4])
    model = keras.Model(x, keras.layers.Dense(2, activity_regularizer=regularizer)(x))
    with pytest.raises(RuntimeError, match="inside"), layer_losses.recording(model):
        raise RuntimeError("inside")
    layer = model.layers[-1]
    assert layer.activity_regularizer is regularizer and "add_loss" not in vars(layer)
    model(np.ones([1, 4]), training=True)
    assert len(model.losses) == 1
