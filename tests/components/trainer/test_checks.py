import types

import keras
import pytest

from components.trainer import layers, models
from components.trainer.checks import LayerError, check_layers


def model_of(layer):
    x = keras.Input([4, 3])
    return keras.Model(x, layer(x))


@pytest.mark.parametrize("name", models.names())
def test_the_projects_models_pass(name):
    check_layers(models.create(name), replicas=4)


@pytest.mark.parametrize("synchronized", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_kerass_batch_normalization(synchronized, nested):
    layer = keras.layers.BatchNormalization(synchronized=synchronized, name="plain")
    model = model_of(model_of(layer) if nested else layer)
    with pytest.raises(LayerError, match="'plain' normalizes over .* one replica.*use components"):
        check_layers(model, replicas=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda name: keras.layers.Dropout(0.5, name=name),
        lambda name: keras.layers.SpatialDropout1D(0.5, name=name),
        lambda name: keras.layers.GaussianNoise(0.5, name=name),
        lambda name: keras.layers.RNN(keras.layers.GRUCell(3, dropout=0.5, name=name)),
        lambda name: keras.layers.RNN(keras.layers.LSTMCell(3, recurrent_dropout=0.5, name=name)),
    ],
)
def test_kerass_random_layers_on_more_than_one_replica(make):
    model = model_of(make("random"))
    check_layers(model, replicas=1)
    with pytest.raises(LayerError, match="'random' .* same random numbers on each of 2 replicas"):
        check_layers(model, replicas=2)


def test_a_recurrent_layer_without_dropout_is_fine():
    check_layers(model_of(keras.layers.GRU(3)), replicas=2)


class Holder(keras.Layer):
    """Calls a layer that it keeps somewhere."""

    def __init__(self, **kept):
        super().__init__(name="holder")
        for name, value in kept.items():
            setattr(self, name, value)

    def call(self, inputs):
        return inputs


def hidden():
    return keras.layers.Dense(2, name="hidden")


@pytest.mark.parametrize(
    ("kept", "place"),
    [
        ({"helper": types.SimpleNamespace(layer=hidden())}, "holder.helper.layer"),
        (
            {"_helper": types.SimpleNamespace(inner=types.SimpleNamespace(all=[hidden()]))},
            r"holder._helper.inner.all\[0\]",
        ),
        ({"call_it": (lambda layer: lambda x: layer(x))(hidden())}, "holder.call_it -> layer"),
    ],
)
def test_a_layer_that_the_model_does_not_track(kept, place):
    with pytest.raises(LayerError, match=f"'hidden' at {place} is not tracked.*losses"):
        check_layers(model_of(Holder(**kept)), replicas=1)


def test_a_layer_without_weights_is_not_overlooked():
    helper = types.SimpleNamespace(layer=keras.layers.ActivityRegularization(l2=1.0, name="lost"))
    with pytest.raises(LayerError, match="'lost' at holder.helper.layer is not tracked"):
        check_layers(model_of(Holder(helper=helper)), replicas=1)


def test_a_layer_in_a_lambda():
    layer = hidden()
    layer.build([None, 4, 3])
    model = model_of(keras.layers.Lambda(lambda x: layer(x), name="lambda"))
    with pytest.raises(LayerError, match="'hidden' at lambda.function -> layer is not tracked"):
        check_layers(model, replicas=1)


def test_tracked_layers_in_containers_pass():
    check_layers(model_of(Holder(layers=[hidden()], by_name={"a": hidden()})), replicas=1)


def test_our_layers_may_draw(monkeypatch):
    check_layers(model_of(layers.Dropout(0.5, seed=1)), replicas=8)
