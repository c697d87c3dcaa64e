import numpy as np
import pytest
import tensorflow as tf

from components.trainer import controller, inputs, models, optimizers
from components.trainer.actions import NonFiniteLossError, require_finite
from components.trainer.loop import TrainingLoop
from schemas import mnist

EXAMPLES, BATCH = 64, 16


@pytest.fixture
def strategy():
    return tf.distribute.get_strategy()


def batches(strategy, *, training, seed=0):
    random = np.random.default_rng(seed)
    dataset = tf.data.Dataset.from_tensor_slices(
        {
            mnist.IMAGE: random.integers(0, 256, [EXAMPLES, 28, 28], dtype=np.uint8),
            mnist.LABEL: random.integers(0, 10, [EXAMPLES]),
        }
    ).batch(BATCH)
    return inputs.distribute(strategy, dataset.repeat() if training else dataset, BATCH)


def make_loop(strategy, model="mlp", optimizer="sgd", **arguments):
    with strategy.scope():
        return TrainingLoop(
            models.create(model, seed=0),
            optimizers.create(optimizer, **arguments),
            strategy=strategy,
            steps_per_call=2,
        )


def fit(strategy, loop, **arguments):
    arguments = {"epochs": 3, "steps_per_epoch": 4, "patience": 3, **arguments}
    train = iter(batches(strategy, training=True))
    return controller.fit(loop, train, batches(strategy, training=False), **arguments)


def test_each_epoch_is_told_and_counts_its_steps(strategy):
    told = []
    fit(strategy, make_loop(strategy, learning_rate=0.01), actions=[told.append])
    assert [(epoch.number, epoch.of, epoch.step) for epoch in told] == [
        (1, 3, 4),
        (2, 3, 8),
        (3, 3, 12),
    ]
    assert told[-1].train["loss"] < told[0].train["loss"]


def test_the_model_ends_with_the_weights_of_the_best_epoch(strategy):
    loop = make_loop(strategy, learning_rate=0.3)
    told = []
    best = fit(strategy, loop, epochs=6, patience=6, actions=[told.append])
    assert best.eval["loss"] == min(epoch.eval["loss"] for epoch in told)
    assert loop.evaluate(batches(strategy, training=False)) == pytest.approx(best.eval)


def test_training_stops_early(strategy):
    told = []
    # Weights that do not move are no better after the first epoch, nor worse: the later of equals
    # counts as the best, so the loss must rise, which a wild learning rate takes care of.
    fit(
        strategy,
        make_loop(strategy, learning_rate=1e6),
        epochs=50,
        patience=2,
        actions=[told.append],
    )
    assert len(told) < 50


def test_evaluation_uses_the_evaluation_weights_and_training_goes_on_from_its_own(strategy):
    loop = make_loop(strategy, optimizer="schedule_free_adamw", learning_rate=0.01)
    seen = []

    def watch(epoch):
        seen.append([np.array(variable) for variable in loop.model.trainable_variables])

    before = [np.array(variable) for variable in loop.model.trainable_variables]
    fit(strategy, loop, epochs=1, actions=[watch])
    after = [np.array(variable) for variable in loop.model.trainable_variables]
    # The model is left as it was evaluated, as it is to be exported.
    for evaluated, exported, start in zip(seen[0], after, before, strict=True):
        np.testing.assert_array_equal(evaluated, exported)
        assert not np.array_equal(evaluated, start)


def test_statistics_are_recomputed_for_the_evaluation_weights(strategy):
    loop = make_loop(strategy, "sequence", "schedule_free_adamw", learning_rate=0.01)
    moving = [v for v in loop.model.non_trainable_variables if "moving_mean" in v.path]
    seen = []
    fit(
        strategy,
        loop,
        epochs=1,
        calibration=batches(strategy, training=False),
        actions=[lambda epoch: seen.append(np.array(moving[0]))],
    )
    without = make_loop(strategy, "sequence", "schedule_free_adamw", learning_rate=0.01)
    fit(strategy, without, epochs=1)
    [plain] = [v for v in without.model.non_trainable_variables if v.path == moving[0].path]
    assert not np.allclose(seen[0], plain)


def test_an_action_can_end_the_run(strategy):
    loop = make_loop(strategy, learning_rate=1e30)
    with pytest.raises(NonFiniteLossError):
        fit(strategy, loop, actions=[require_finite])
