import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import models
from components.trainer.models import ModelError

NAMES = models.names()


def test_names():
    assert models.names() == ["cnn", "small_cnn", "deep_cnn", "mlp", "sequence", "encoder_decoder"]


@pytest.mark.parametrize("name", NAMES)
class TestEveryModel:
    def test_takes_bytes_and_gives_logits(self, name, examples):
        data = examples(3)
        model = models.create(name)
        assert model.input["image"].dtype == "uint8" and model.input["image"].shape[1:] == (28, 28)
        outputs = model({key: tf.constant(data[key]) for key in model.input})
        assert outputs["logits"].shape == [3, 10]
        assert outputs["logits"].dtype == tf.float32

    def test_serving_needs_the_image_alone(self, name, examples):
        data = examples(3)
        model = models.create(name)
        served = models.logits(model)(tf.constant(data["image"]))
        trained = model({key: tf.constant(data[key]) for key in model.input})["logits"]
        np.testing.assert_array_equal(served, trained)

    def test_initial_weights_depend_on_the_seed_alone(self, name):
        keras.utils.set_random_seed(1)
        first = models.create(name, seed=5)
        keras.utils.set_random_seed(2)
        again, other = models.create(name, seed=5), models.create(name, seed=6)
        for a, b in zip(first.trainable_variables, again.trainable_variables, strict=True):
            np.testing.assert_array_equal(a, b)
        kernels = [(a, b) for a, b in zip(first.variables, other.variables, strict=True)]
        assert any(np.not_equal(a, b).any() for a, b in kernels)

    def test_every_kernel_is_drawn_and_regularized_by_itself(self, name):
        model = models.create(name, l2=0.5)
        kernels = [v for v in model.trainable_variables if "kernel" in v.name]
        assert len(kernels) >= 2
        for kernel in kernels:
            expected = 0.5 * np.sum(np.square(kernel))
            assert float(kernel.regularizer(kernel)) == pytest.approx(expected, rel=1e-5)
        assert len({kernel.numpy().tobytes() for kernel in kernels}) == len(kernels)
        assert all(v.regularizer is None for v in models.create(name).trainable_variables)

    def test_number_of_classes(self, name, examples):
        image = tf.constant(examples(2)["image"])
        assert models.logits(models.create(name, num_classes=47))(image).shape == [2, 47]

    @pytest.mark.parametrize("dtype", ["float64", "mixed_float16"])
    def test_dtype(self, name, dtype, examples):
        before = keras.config.dtype_policy()
        model = models.create(name, dtype=dtype)
        assert keras.config.dtype_policy() == before
        policy = keras.dtype_policies.get(dtype)
        assert {v.dtype for v in model.trainable_variables} == {policy.variable_dtype}
        output = models.logits(model)(tf.constant(examples(2)["image"]))
        assert output.dtype == policy.compute_dtype

    def test_names_of_weights_are_the_same_in_every_copy(self, name):
        first, second = models.create(name), models.create(name)
        trained = [[v.path for v in model.trainable_variables] for model in (first, second)]
        assert trained[0] == trained[1] and len(set(trained[0])) == len(trained[0])

    def test_an_unknown_argument(self, name):
        with pytest.raises(ModelError, match=f"{name} has no argument 'drop_out'; .*dropout"):
            models.create(name, drop_out=0.5)


def test_encoder_decoder_redraws_with_the_label_but_classifies_without(examples):
    data = examples(3)
    model = models.create("encoder_decoder")
    image = tf.constant(data["image"])
    first = model({"image": image, "label": tf.constant([1, 2, 3])})
    second = model({"image": image, "label": tf.constant([4, 5, 6])})
    np.testing.assert_array_equal(first["logits"], second["logits"])
    assert np.not_equal(first["reconstruction"], second["reconstruction"]).any()
    assert first["reconstruction"].shape == [3, 28, 28]
    assert 0 <= np.min(first["reconstruction"]) <= np.max(first["reconstruction"]) <= 1


@pytest.mark.parametrize(
    ("name", "filters"),
    [("cnn", [8, 16, 24]), ("small_cnn", [8, 16]), ("deep_cnn", [8, 8, 16, 24])],
)
def test_filters_are_the_sizes_of_the_convolutions(name, filters):
    model = models.create(name, filters=filters)
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    assert [layer.filters for layer in convolutions] == filters


@pytest.mark.parametrize("name", ["cnn", "deep_cnn"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"filters": [16, 32]}, "filters must be [34] positive integers, got \\[16, 32\\]"),
        ({"filters": [8, 8, 8, 0]}, "filters must be [34] positive integers, got \\[8, 8, 8, 0\\]"),
        ({"filters": 16}, "filters must be [34] positive integers, got 16"),
        ({"filters": "abc"}, "filters must be [34] positive integers, got 'abc'"),
        ({"shift": -1}, "shift must be a whole number of pixels >= 0; got -1"),
        ({"shift": 1.5}, "shift must be a whole number of pixels >= 0; got 1.5"),
        ({"rotation": -1}, "rotation must be a finite number >= 0; got -1"),
        ({"warp": "much"}, "warp must be a finite number >= 0; got 'much'"),
    ],
)
def test_arguments_that_a_cnn_cannot_take(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        models.create(name, **arguments)


def test_images_are_distorted_in_training_alone(examples):
    image = tf.constant(examples(3)["image"])
    plain = models.create("cnn", dropout=0.0, shift=0)
    distorted = models.create("cnn", dropout=0.0, shift=0, rotation=20, scale=0.1, warp=1)
    distorted.set_weights(plain.get_weights())
    served = plain(image)["logits"]
    np.testing.assert_array_equal(distorted(image)["logits"], served)
    trained = distorted(image, training=True)["logits"]
    assert (np.abs(trained - served).max(axis=-1) > 1e-4).all()


def test_logits_that_need_the_label_cannot_be_served():
    label = keras.Input([], name="label", dtype="int64")
    image = keras.Input([28, 28], name="image", dtype="uint8")
    seen = keras.layers.Dense(10)(keras.layers.Flatten()(image))
    logits = keras.layers.Add()([seen, keras.layers.Embedding(10, 10)(label)])
    model = keras.Model({"image": image, "label": label}, {"logits": logits}, name="told")
    with pytest.raises(ModelError, match="logits of model 'told' need more than the image"):
        models.logits(model)


def test_an_unknown_model():
    with pytest.raises(ModelError, match="one of cnn, small_cnn, .*, got 'resnet'"):
        models.create("resnet")


def test_the_policy_is_restored_after_an_error():
    before = keras.config.dtype_policy()
    with pytest.raises(ValueError, match="rate"):
        models.create("mlp", dtype="float64", dropout=7)
    assert keras.config.dtype_policy() == before
