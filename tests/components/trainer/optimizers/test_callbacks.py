"""Plain Keras with two sets of weights."""

import keras
import numpy as np
import pytest

from components.trainer import optimizers
from components.trainer.optimizers import base
from components.trainer.optimizers.callbacks import EvaluationWeights

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(32, 4)), RNG.normal(size=(32, 2))


def make(name: str = "schedule_free_adamw") -> keras.Model:
    """A compiled model, always with the same weights."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile(optimizers.create(name, learning_rate=0.1), loss="mse")
    return model


def fit(model: keras.Model, epochs: int, **arguments) -> keras.callbacks.History:
    """Trains always on the same batches."""
    return model.fit(X, Y, batch_size=8, epochs=epochs, shuffle=False, verbose=0, **arguments)


def loss_at_evaluation_weights(model: keras.Model) -> float:
    """With the optimizer's own exchange."""
    with base.evaluation_weights(model.optimizer):
        return model.evaluate(X, Y, batch_size=8, verbose=0)


def test_validation_and_the_end_of_fit_use_the_evaluation_weights():
    plain = make()
    expected = []
    for _ in range(3):
        fit(plain, 1)
        expected.append(loss_at_evaluation_weights(plain))
    model = make()
    history = fit(
        model,
        3,
        callbacks=[EvaluationWeights()],
        validation_data=(X, Y),
        validation_batch_size=8,
    )
    assert history.history["val_loss"] == expected
    assert model.evaluate(X, Y, batch_size=8, verbose=0) == expected[-1]


def test_second_fit_goes_on_from_the_training_weights():
    """Two fits with evaluations and predictions between them are one long fit."""
    once, twice = make(), make()
    callbacks = [EvaluationWeights()]
    fit(once, 4, callbacks=callbacks)
    fit(twice, 2, callbacks=callbacks)
    twice.evaluate(X, Y, callbacks=callbacks, verbose=0)
    twice.predict(X, callbacks=callbacks, verbose=0)
    fit(twice, 2, callbacks=callbacks)
    for one, two in zip(once.get_weights(), twice.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_saved_after_fit_it_serves_x_and_goes_on_from_y(tmp_path):
    model = make()
    callbacks = [EvaluationWeights()]
    fit(model, 2, callbacks=callbacks)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
    for each in (model, loaded):
        fit(each, 2, callbacks=callbacks)
    for one, two in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_fit_without_it_after_one_with_it_is_refused():
    model = make()
    fit(model, 1, callbacks=[EvaluationWeights()])
    with pytest.raises(Exception, match="the variables hold the evaluation weights"):
        fit(model, 1)


@pytest.mark.parametrize("name", ["sgd", "keras:Adam"])
def test_optimizer_with_one_set_is_left_alone(name):
    with_it, without = make(name), make(name)
    fit(with_it, 2, callbacks=[EvaluationWeights()])
    fit(without, 2)
    for one, two in zip(with_it.get_weights(), without.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
