"""What only Schedule-Free AdamW has: three sequences of weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer.optimizers import ScheduleFreeAdamW, base
from tests.components.trainer.optimizers import problem
from tests.components.trainer.optimizers.problem import Training


@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize(("golden", "warmup_steps"), [("sf_adamw", 0), ("sf_adamw_warm", 20)])
def test_evaluation_weights_are_those_of_the_authors(golden, warmup_steps, replicas):
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=warmup_steps), replicas)
    training.run(200)
    with base.evaluation_weights(training.optimizer):
        expected = problem.GOLDEN[f"{golden}_eval"]
        np.testing.assert_allclose(training.weights, expected, rtol=0, atol=1e-12)


def test_x_is_the_mean_of_z():
    """With a constant learning rate and r = 0 all z weigh the same."""
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
    z = []
    for _ in range(6):
        training.run(1, "eager")
        slots = [training.optimizer.slots_of(v) for v in training.variables]
        z.append(problem.flat([slot.z for slot in slots]))
    x = problem.flat([slot.x for slot in slots])
    np.testing.assert_allclose(x, np.mean(z, axis=0), rtol=0, atol=1e-15)
    np.testing.assert_allclose(training.weights, 0.1 * z[-1] + 0.9 * x, rtol=0, atol=1e-15)


@pytest.mark.parametrize("replicas", [1, 2])
def test_exchange_is_exact_and_can_be_repeated(replicas):
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0), replicas)
    y = training.run(3)[-1]
    training.optimizer.use_training_weights()
    np.testing.assert_array_equal(training.weights, y)
    training.optimizer.use_evaluation_weights()
    x = training.weights
    assert np.all(x != y)
    training.optimizer.use_evaluation_weights()
    np.testing.assert_array_equal(training.weights, x)
    training.optimizer.use_training_weights()
    np.testing.assert_array_equal(training.weights, y)


def test_training_weights_come_back_after_an_error():
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
    y = training.run(3)[-1]
    with pytest.raises(KeyError), base.evaluation_weights(training.optimizer):
        raise KeyError
    np.testing.assert_array_equal(training.weights, y)


def test_before_the_first_step_all_sets_are_the_same():
    """Also when the weights change after the slots were made."""
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
    training.variables[0].assign(problem.W0 + 1)
    before = training.weights
    with base.evaluation_weights(training.optimizer):
        np.testing.assert_array_equal(training.weights, before)
    np.testing.assert_array_equal(training.weights, before)


@pytest.mark.parametrize("replicas", [1, 2])
def test_starts_from_weights_loaded_after_the_build(replicas):
    """As from those it was built with; the sequences must not start from older ones."""
    loaded = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0), replicas)
    for variable in loaded.variables:
        variable.assign(variable + 7)
    for variable, start in zip(loaded.variables, (problem.W0, problem.B0), strict=True):
        variable.assign(start)
    expected = problem.GOLDEN["sf_adamw"][:20]
    np.testing.assert_allclose(loaded.run(20), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", ["eager", "function"])
def test_training_at_the_evaluation_weights_is_refused(mode):
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
    training.run(3)
    training.optimizer.use_evaluation_weights()
    x = training.weights
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"call use_training_weights\(\)"):
        training.run(1, mode)
    np.testing.assert_array_equal(training.weights, x)


def test_exchange_inside_a_function_is_refused():
    training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
    training.run(1)
    with pytest.raises(RuntimeError, match=r"not inside a tf\.function"):
        tf.function(training.optimizer.use_evaluation_weights)()


def test_checkpoint_taken_during_evaluation_goes_on_from_y(tmp_path):
    def make() -> tuple[Training, tf.train.Checkpoint]:
        training = Training(lambda: ScheduleFreeAdamW(0.02, warmup_steps=0))
        w, b = training.variables
        return training, tf.train.Checkpoint(w=w, b=b, optimizer=training.optimizer)

    training, checkpoint = make()
    training.run(5)
    with base.evaluation_weights(training.optimizer):
        path = checkpoint.save(str(tmp_path / "checkpoint"))
        x = training.weights
    resumed, other = make()
    other.restore(path).assert_consumed()
    np.testing.assert_array_equal(resumed.weights, x)
    resumed.optimizer.use_training_weights()
    np.testing.assert_array_equal(resumed.run(5), training.run(5))


def test_convex_constraint_holds_for_all_three_sequences():
    limit = 0.5
    variable = keras.Variable([[0.3], [0.3]], dtype="float64")
    variable.constraint = keras.constraints.MaxNorm(limit)
    optimizer = ScheduleFreeAdamW(0.3, warmup_steps=0)
    for gradient in ([[-1.0], [0.2]], [[-2.0], [-1.0]], [[1.0], [-3.0]], [[-1.0], [-1.0]]):
        optimizer.apply([tf.constant(gradient, tf.float64)], [variable])
        slot = optimizer.slots_of(variable)
        for weights in (variable.value, slot.x, slot.z):
            assert np.linalg.norm(weights) <= limit + 1e-6


def test_constraint_that_is_not_convex_holds_for_what_is_served():
    """The average of points on a sphere lies inside it, so x is constrained itself."""
    variable = keras.Variable([[0.6], [0.8]], dtype="float64")
    variable.constraint = keras.constraints.UnitNorm()
    optimizer = ScheduleFreeAdamW(0.3, warmup_steps=0)
    for gradient in ([[1.0], [0.5]], [[-2.0], [1.0]], [[1.0], [-3.0]]):
        optimizer.apply([tf.constant(gradient, tf.float64)], [variable])
    with base.evaluation_weights(optimizer):
        assert np.linalg.norm(variable.numpy()) == pytest.approx(1, abs=1e-6)


def test_zero_learning_rate_moves_nothing():
    """Where every weight of the average is 0."""
    training = Training(lambda: ScheduleFreeAdamW(0.0, warmup_steps=0))
    start = training.weights
    np.testing.assert_array_equal(training.run(2), [start, start])


def test_warmup_rises_linearly():
    optimizer = ScheduleFreeAdamW(1.0, warmup_steps=4, epsilon=1e-30)
    variable = keras.Variable([0.0], dtype="float64")
    z = [0.0]
    for _ in range(5):
        optimizer.apply([tf.constant([1.0], tf.float64)], [variable])
        z.append(float(optimizer.slots_of(variable).z[0]))
    np.testing.assert_allclose(-np.diff(z), [0.25, 0.5, 0.75, 1.0, 1.0], rtol=0, atol=1e-12)
