import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import losses
from components.trainer import strategy as strategies
from components.trainer.losses import LossError


def two_outputs():
    image = keras.Input([28, 28], name="image")
    flat = keras.layers.Flatten()(image)
    outputs = {"logits": keras.layers.Dense(10)(flat), "reconstruction": image}
    return keras.Model({"image": image}, outputs)


def test_cross_entropy_by_hand():
    logits = np.log([[0.7, 0.2, 0.1], [0.5, 0.25, 0.25]])
    batch = {"label": tf.constant([0, 2], tf.int64)}
    value = losses.cross_entropy(batch, tf.constant(logits))
    np.testing.assert_allclose(value, -np.log([0.7, 0.25]), rtol=1e-14)


def test_reconstruction_error_by_hand():
    image = np.zeros([2, 28, 28], np.uint8)
    image[1] = 255
    drawn = np.full([2, 28, 28], 0.25)
    value = losses.reconstruction_error({"image": image}, tf.constant(drawn))
    np.testing.assert_allclose(value, [0.0625, 0.5625], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_losses_are_summed_in_float32_at_least(dtype):
    batch = {"label": tf.constant([1], tf.int64), "image": tf.zeros([1, 28, 28], tf.uint8)}
    expected = tf.float64 if dtype == "float64" else tf.float32
    assert losses.cross_entropy(batch, tf.zeros([1, 10], dtype)).dtype == expected
    assert losses.reconstruction_error(batch, tf.zeros([1, 28, 28], dtype)).dtype == expected


def test_each_output_has_its_loss():
    assert losses.select(two_outputs(), None) == losses.LOSSES
    own = {"logits": losses.cross_entropy, "reconstruction": lambda batch, output: output}
    assert losses.select(two_outputs(), own) == own


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ({"logits": losses.cross_entropy}, r"without a loss: \['reconstruction'\]"),
        ({**losses.LOSSES, "extra": losses.cross_entropy}, r"without an output: \['extra'\]"),
    ],
)
def test_outputs_and_losses_must_match(loss, message):
    with pytest.raises(LossError, match=message):
        losses.select(two_outputs(), loss)


def test_a_model_without_logits():
    image = keras.Input([28, 28])
    with pytest.raises(LossError, match="must be a dictionary with 'logits'"):
        losses.select(keras.Model(image, keras.layers.Flatten()(image)), None)


@pytest.mark.parametrize(
    "reduced", [lambda x: tf.reduce_mean(x), lambda x: tf.reduce_sum(x, keepdims=True)]
)
def test_a_reduced_loss_is_an_error_not_a_wrong_number(reduced):
    batch = {"label": tf.constant([1, 2, 3], tf.int64)}
    loss = {"logits": lambda batch, logits: reduced(losses.cross_entropy(batch, logits))}
    with pytest.raises(LossError, match=r"the loss of 'logits' .* shape \[3\].*weighted by its"):
        losses.per_example(loss, batch, {"logits": tf.zeros([3, 10])})


def test_per_example_adds_up_the_outputs():
    batch = {"label": tf.constant([1, 2], tf.int64)}
    loss = {"a": lambda b, x: x, "b": lambda b, x: 10 * x}
    value = losses.per_example(
        loss, batch, {"a": tf.constant([1.0, 2]), "b": tf.constant([3.0, 4])}
    )
    assert value.numpy().tolist() == [31, 42]


def test_shares_add_up_to_the_weighted_mean():
    each, weights = np.array([1.0, 2, 3, 4, 5]), np.array([0.5, 0, 1, 2, 1])
    parts = [slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 5)]  # The last replica has nothing.
    shares = [losses.share(each[p], tf.constant(weights[p]), weights.sum()) for p in parts]
    np.testing.assert_allclose(sum(shares), np.average(each, weights=weights), rtol=1e-15)


def test_share_of_nothing_is_0():
    assert float(losses.share(tf.ones([2]), tf.zeros([2]), tf.constant(0.0))) == 0


@pytest.mark.parametrize("replicas", [1, 4])
def test_every_regularizer_counts_once(replicas):
    """Nested and shared layers, Conv1D and GRU included; frozen weights don't count."""
    ones = {"kernel_initializer": "ones", "kernel_regularizer": keras.regularizers.L2(1.0)}
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        shared = keras.layers.Dense(4, bias_initializer="ones", bias_regularizer="l1", **ones)
        inner_input = keras.Input([4, 4])
        inner = keras.Model(inner_input, keras.layers.Conv1D(2, 1, **ones)(inner_input))
        frozen = keras.layers.Dense(3, trainable=False, **ones)
        x = image = keras.Input([4, 4])
        for layer in (shared, shared, inner):
            x = layer(x)
        x = keras.layers.GRU(
            2,
            recurrent_initializer="ones",
            recurrent_regularizer=keras.regularizers.L2(1.0),
            **ones,
        )(x)
        model = keras.Model(image, frozen(x))
        # The number of weights, all of them 1; 0.01 is Keras's default rate for "l1".
        expected = 4 * 4 + 4 * 0.01 + 4 * 2 + 2 * 6 + 2 * 6
    share = strategy.run(lambda: losses.regularization_share(model, tf.float32))
    total = sum(float(value) for value in strategy.experimental_local_results(share))
    assert total == pytest.approx(expected)


def test_without_regularizers_the_share_is_0():
    assert float(losses.regularization_share(two_outputs(), tf.float32)) == 0
