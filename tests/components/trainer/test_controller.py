import dataclasses
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import controller, inputs, models, optimizers
from components.trainer import strategy as strategies
from components.trainer.actions import NonFiniteLossError, require_finite
from components.trainer.checkpoints import Checkpoints, Interrupted
from components.trainer.gradients import create as create_processors
from components.trainer.loop import TrainingLoop
from components.trainer.settings import CheckpointSettings
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
    return controller.fit(loop, lambda step: train, batches(strategy, training=False), **arguments)


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


class Killed(BaseException):
    """Stands for the end of the process at this moment."""


class Deaths:
    """Says when a training is interrupted, or killed, by counting the points it reaches."""

    def __init__(self, *, interrupt_at=0, kill_at=0):
        self.interrupt_at, self.kill_at, self.count = interrupt_at, kill_at, 0

    def __call__(self):
        self.count += 1
        if self.count == self.kill_at:
            raise Killed
        return self.count == self.interrupt_at


def dying(real, deaths):
    """A function that does what it did, and after which the process may be dead."""

    def operation(*arguments):
        result = real(*arguments)
        deaths()
        return result

    return operation


class TestResume:
    """Each attempt has fresh objects, as in a new process."""

    @pytest.fixture
    def attempt(self, examples, tmp_path):
        """Trains for 3 epochs of 4 steps; returns all that must be the same in the end."""
        train, held_out = examples(26), examples(12, seed=1)

        def attempt(
            interrupted=lambda: False,
            *,
            model="mlp",
            optimizer="schedule_free_adamw",
            replicas=1,
            gradients=(),
            dtype="float32",
            folder="checkpoints",
            **model_arguments,
        ):
            keras.utils.set_random_seed(0)
            strategy = strategies.create(f"mirrored:{replicas}" if replicas > 1 else "default")
            with strategy.scope():
                loop = TrainingLoop(
                    models.create(model, seed=0, dtype=dtype, **model_arguments),
                    optimizers.create(optimizer, learning_rate=0.01),
                    strategy=strategy,
                    processors=create_processors(gradients),
                    steps_per_call=3,
                )

            def distributed(batches):
                return inputs.distribute(strategy, batches, 8)

            told = []
            best = controller.fit(
                loop,
                lambda step: iter(distributed(inputs.training(train, 8, seed=5, start=step))),
                distributed(inputs.one_pass(held_out, 8)),
                calibration=distributed(inputs.one_pass(train, 8)),
                epochs=3,
                steps_per_epoch=4,
                patience=2,
                actions=[told.append],
                checkpoints=Checkpoints(
                    str(tmp_path / folder),
                    strategy=strategy,
                    settings=CheckpointSettings(minutes=0, steps=1),
                    interrupted=interrupted,
                ),
            )
            epochs = [dataclasses.replace(epoch, seconds=0) for epoch in told]
            weights = [np.array(v).tobytes() for v in loop.model.variables]
            return epochs, best.number, weights

        return attempt

    @pytest.mark.parametrize(
        "case",
        [
            {"replicas": 1},
            {"replicas": 2},
            {"model": "sequence"},
            {"model": "cnn", "rotation": 10, "scale": 0.1, "warp": 1},
            {"optimizer": "prodigy", "gradients": [{"name": "accumulate", "batches": 3}]},
            {"optimizer": "keras:Adam", "gradients": [{"name": "add_noise", "eta": 0.01}]},
            {"optimizer": "sgd", "dtype": "mixed_float16"},
        ],
        ids=lambda case: "-".join(str(value) for value in case.values()),
    )
    def test_ends_with_the_same_bits(self, case, attempt):
        """Cut off at the end of an epoch, and in the middle of one."""
        whole = attempt(folder="whole", **case)
        for _ in range(2):
            with pytest.raises(Interrupted):
                attempt(Deaths(interrupt_at=2), **case)
        assert attempt(**case) == whole

    def test_wherever_it_is_cut_off(self, attempt):
        """Before and after each evaluation, and between: each attempt reaches one point more."""
        whole = attempt(folder="whole", optimizer="sgd")
        points = 0
        while True:
            try:
                resumed = attempt(Deaths(interrupt_at=1), optimizer="sgd")
                break
            except Interrupted:
                points += 1
        # Training is over at the last point, so that an attempt without one follows.
        assert points == 9 and resumed == whole

    def test_ten_kills_at_random_moments(self, attempt, tmp_path, monkeypatch):
        """Between two calls, in the midst of a call, or in the midst of a checkpoint's writing."""
        whole = attempt(folder="whole", optimizer="sgd")
        random = np.random.default_rng(0)
        places = {
            "call": (TrainingLoop, "advance"),
            "writing": (tf.io.gfile, "makedirs"),
            "written": (tf.io.gfile, "rename"),
        }
        kills, ended = 0, []
        while kills < 10:
            deaths = Deaths(kill_at=random.integers(1, 4))
            place = places.get(random.choice(["between", *places]))
            with monkeypatch.context() as patch:
                if place:
                    patch.setattr(*place, dying(getattr(*place), deaths))
                try:
                    ended.append(attempt((lambda: False) if place else deaths, optimizer="sgd"))
                    shutil.rmtree(tmp_path / "checkpoints")  # Once more from the beginning.
                except Killed:
                    kills += 1
        ended.append(attempt(optimizer="sgd"))
        assert all(result == whole for result in ended)
