"""What all optimizers share, from the table in cases.py."""

import inspect
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import optimizers
from components.trainer.optimizers import base
from tests.components.trainer.optimizers import problem
from tests.components.trainer.optimizers.cases import CASES, Case
from tests.components.trainer.optimizers.problem import Training

EXCLUDE = ("weight_decay_exclude", "trust_exclude")  # not part of the numpy references


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request) -> Case:
    """Each optimizer in turn."""
    return request.param


def all_arguments(case: Case) -> dict:
    """Every argument that `create` takes, with a value that is not its default."""
    taken = optimizers.argument_names(case.name)
    return case.arguments | {name: ["gamma$"] for name in EXCLUDE if name in taken}


def variable(value, name="kernel", dtype="float64", constraint=None) -> keras.Variable:
    """A trainable variable."""
    made = keras.Variable(value, dtype=dtype, name=name)
    made.constraint = constraint
    return made


def test_table_has_every_optimizer_and_every_argument():
    assert {case.name for case in CASES} == set(optimizers.OPTIMIZERS)
    for case in CASES:
        assert set(all_arguments(case)) == set(optimizers.argument_names(case.name))
        signature = inspect.signature(optimizers.OPTIMIZERS[case.name])
        for name, value in all_arguments(case).items():
            assert signature.parameters[name].default != value


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [(case.name, argument, value) for case in CASES for argument, value in case.bad],
)
def test_bad_argument_is_refused(name, argument, value):
    with pytest.raises(optimizers.OptimizerError, match=f"{name}: {argument} must") as error:
        optimizers.create(name, **{argument: value})
    shown = value[0] if isinstance(value, list) else value
    assert repr(shown) in str(error.value)


def test_config_holds_every_argument(case):
    arguments = {"name": "another", **all_arguments(case)}
    optimizer = optimizers.OPTIMIZERS[case.name](**arguments)
    config = json.loads(json.dumps(optimizer.get_config()))
    assert config == arguments
    assert type(optimizer).from_config(config).get_config() == config


def test_keras_serialization_gives_an_equal_optimizer(case):
    optimizer = optimizers.create(case.name, **all_arguments(case))
    config = keras.saving.serialize_keras_object(optimizer)
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is type(optimizer)
    assert again.get_config() == optimizer.get_config()


def test_first_step_by_hand(case):
    weight = variable([1.0])
    optimizer = optimizers.create(case.name)
    optimizer.apply([tf.constant([0.5], tf.float64)], [weight])
    np.testing.assert_allclose(weight.numpy(), [case.after_first_step], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("replicas", "mode", "steps"),
    [
        (1, "eager", 20),
        (2, "eager", 5),
        (4, "eager", 5),
        (4, "function", 200),
        (1, "xla", 200),
    ],
)
def test_follows_the_paper_with_arguments_that_are_not_the_defaults(case, replicas, mode, steps):
    start = [problem.W0, problem.B0]
    expected = case.reference(problem.gradients, start, steps, **case.arguments)
    exclude = {"trust_exclude": []} if case.name == "lars" else {}
    training = Training(lambda: optimizers.create(case.name, **case.arguments, **exclude), replicas)
    path = training.run(steps, mode)
    np.testing.assert_allclose(path, [problem.flat(w) for w in expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("golden", "name", "arguments"),
    [
        ("sf_adamw", "schedule_free_adamw", {"learning_rate": 0.02, "warmup_steps": 0}),
        ("sf_adamw_warm", "schedule_free_adamw", {"learning_rate": 0.02, "warmup_steps": 20}),
        ("adabelief", "adabelief", {"learning_rate": 0.01}),
        ("adopt", "adopt", {"learning_rate": 0.01}),
        ("prodigy", "prodigy", {}),
    ],
)
@pytest.mark.parametrize(
    ("replicas", "mode"),
    [(1, "eager"), (1, "function"), (2, "function"), (4, "function"), (1, "xla")],
)
def test_follows_an_independent_implementation(golden, name, arguments, replicas, mode):
    path = Training(lambda: optimizers.create(name, **arguments), replicas).run(200, mode)
    np.testing.assert_allclose(path, problem.GOLDEN[golden], rtol=0, atol=1e-12)


def test_sparse_gradient_with_repeated_indices_moves_as_the_dense_one(case):
    start = np.arange(8.0).reshape(4, 2) / 4 + 1
    sparse = tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]], tf.float64),
        tf.constant([2, 0, 2]),
        tf.constant([4, 2]),
    )
    dense = tf.constant([[0.5, -1.0], [0.0, 0.0], [4.0, 2.25], [0.0, 0.0]], tf.float64)
    results = []
    for gradient in (sparse, dense):
        weight, optimizer = variable(start), optimizers.create(case.name)
        for _ in range(3):
            optimizer.apply([gradient], [weight])
        results.append(weight.numpy())
    np.testing.assert_array_equal(results[0], results[1])
    assert np.all(results[0][2] != start[2])


def test_constraint_holds_after_each_step(case):
    """In training and in evaluation, with a gradient that pushes below 0."""
    free = variable([1e-7, 1.0])
    bound = variable([1e-7, 1.0], constraint=keras.constraints.NonNeg())
    optimizer = optimizers.create(case.name, learning_rate=1.0)
    for _ in range(3):
        optimizer.apply([tf.constant([1e3, 0.0], tf.float64)] * 2, [free, bound])
        assert bound.numpy().min() >= 0
        with base.evaluation_weights(optimizer):
            assert bound.numpy().min() >= 0
    assert bound.numpy()[0] == 0
    assert free.numpy()[0] < 0


def test_weight_decay_leaves_out_what_is_excluded(case):
    """Also what a method of Keras excludes by variable, after the optimizer is loaded."""

    def train(optimizer) -> list[np.ndarray]:
        variables = [variable([2.0, 2.0], name) for name in ("kernel", "bias", "beta")]
        optimizer = type(optimizer).from_config(optimizer.get_config())
        for _ in range(2):
            optimizer.apply([tf.constant([0.5, 0.25], tf.float64)] * 3, variables)
        return [v.numpy() for v in variables]

    decaying = optimizers.create(
        case.name, learning_rate=0.1, weight_decay=0.1, weight_decay_exclude=["bias$"]
    )
    decaying.exclude_from_weight_decay(var_list=[variable([2.0, 2.0], "beta")])
    kernel, *excluded = train(decaying)
    kernel_without, *others = train(optimizers.create(case.name, learning_rate=0.1))
    np.testing.assert_array_equal(excluded, others)
    assert np.all(kernel != kernel_without)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (4, 1)])
def test_checkpoint_restores_to_the_bit_on_other_replicas(case, before, after, tmp_path):
    def train(replicas: int) -> tuple[Training, tf.train.Checkpoint]:
        training = Training(lambda: optimizers.create(case.name), replicas)
        w, b = training.variables
        return training, tf.train.Checkpoint(w=w, b=b, optimizer=training.optimizer)

    training, checkpoint = train(before)
    training.run(5)
    path = checkpoint.save(str(tmp_path / "checkpoint"))
    resumed, other = train(after)
    status = other.restore(path)
    status.assert_existing_objects_matched()
    status.assert_consumed()
    expected = training.run(5)
    np.testing.assert_array_equal(resumed.run(5), expected)
    for ours, theirs in zip(training.optimizer.variables, resumed.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def fit(model: keras.Model, epochs: int, examples: int = 64) -> None:
    """Trains on fixed data, with plain Keras."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(examples, 6)).astype("float32")
    y = rng.normal(size=(examples, 3)).astype("float32")
    model.fit(x, y, batch_size=16, epochs=epochs, shuffle=False, verbose=0)


def compiled(name: str, **arguments) -> keras.Model:
    """A model with a constraint and an excluded variable."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(
                5, activation="tanh", kernel_constraint=keras.constraints.MaxNorm(1)
            ),
            keras.layers.Dense(3),
        ]
    )
    optimizer = optimizers.create(name, **arguments)
    model.compile(optimizer, loss=keras.losses.MeanSquaredError())
    return model


def test_keras_file_goes_on_as_if_never_saved(case, tmp_path):
    model = compiled(case.name, **(all_arguments(case) | {"weight_decay_exclude": ["bias$"]}))
    fit(model, epochs=1)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    for each in (model, loaded):
        fit(each, epochs=2)
    for ours, theirs in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_fit_in_mixed_precision(case):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = compiled(case.name)
    finally:
        keras.config.set_dtype_policy("float32")
    before = model.get_weights()
    fit(model, epochs=1)
    assert int(model.optimizer.inner_optimizer.iterations.numpy()) == 4
    for old, new in zip(before, model.get_weights(), strict=True):
        assert new.dtype == np.float32
        assert np.all(np.isfinite(new))
        assert np.any(new != old)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_gradient_of_another_dtype_and_low_precision_weights(case, dtype):
    weight, exact = variable([1.0, -2.0], dtype=dtype), variable([1.0, -2.0])
    for each in (weight, exact):
        optimizer = optimizers.create(case.name, learning_rate=0.5)
        for _ in range(3):
            optimizer.apply([tf.constant([0.5, 0.25], tf.float32)], [each])
    assert keras.backend.standardize_dtype(weight.dtype) == dtype
    rounding = {"bfloat16": 3e-2, "float32": 1e-5}[dtype]
    got = keras.ops.convert_to_numpy(keras.ops.cast(weight, "float64"))
    np.testing.assert_allclose(got, exact.numpy(), rtol=0, atol=rounding)


def test_float16_weights_are_refused(case):
    with pytest.raises(ValueError, match=r"kernel is float16.* mixed_float16"):
        optimizers.create(case.name).build([variable([1.0], dtype="float16")])


def test_variable_without_gradient_stays_as_it_is(case):
    used, unused = variable([1.0], "used"), variable([1.0], "unused")
    optimizer = optimizers.create(case.name, weight_decay=0.1)
    gradient = tf.constant([0.5], tf.float64)
    optimizer.apply([gradient, gradient], [used, unused])
    state = [v.numpy().copy() for v in (unused, *optimizer.variables) if "unused" in v.path]
    with pytest.warns(UserWarning, match=r"no gradient for .'unused'"):
        optimizer.apply([gradient, None], [used, unused])
    now = [v.numpy() for v in (unused, *optimizer.variables) if "unused" in v.path]
    np.testing.assert_array_equal(now, state)
    assert int(optimizer.iterations.numpy()) == 2


@pytest.mark.filterwarnings("ignore:no gradient for")
def test_first_gradient_may_come_late(case):
    """Until then evaluation too leaves the variable alone; then it moves from where it is."""
    optimizer = optimizers.create(case.name, learning_rate=0.5)
    early, late = variable([1.0], "early"), variable([3.0], "late")
    gradient = tf.constant([0.5], tf.float64)
    optimizer.build([early, late])
    late.assign([2.0])
    optimizer.apply([gradient, None], [early, late])
    with base.evaluation_weights(optimizer):
        assert late.numpy() == [2.0]
    for _ in range(2):
        optimizer.apply([gradient, gradient], [early, late])
    assert 0 < abs(late.numpy()[0] - 2.0) < 1.5


def test_no_gradient_at_all(case):
    weight, optimizer = variable([1.0]), optimizers.create(case.name)
    optimizer.apply([], [])
    assert int(optimizer.iterations.numpy()) == 0
    with pytest.raises(ValueError, match=r"no gradient for any of .'kernel'"):
        optimizer.apply([None], [weight])


def test_foreign_variable_is_refused(case):
    optimizer = optimizers.create(case.name)
    gradient = tf.constant([0.5], tf.float64)
    optimizer.apply([gradient], [variable([1.0])])
    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply([gradient], [variable([1.0])])


def test_tensors_and_schedules_are_as_exact_as_numbers(case):
    """Every hyperparameter as a float64 variable or a callable, in a compiled function."""
    numbers = {n: v for n, v in case.arguments.items() if type(v) is float and n != "d_0"}
    others = {n: v for n, v in case.arguments.items() if n not in numbers}
    makers = [
        lambda: numbers,
        lambda: {n: tf.Variable(v, dtype=tf.float64) for n, v in numbers.items()},
        lambda: {n: (lambda v=v: tf.constant(v, tf.float64)) for n, v in numbers.items()},
    ]
    by_number, by_variable, by_callable = (
        Training(lambda make=make: optimizers.create(case.name, **others, **make())).run(50)
        for make in makers
    )
    np.testing.assert_allclose(by_variable, by_number, rtol=0, atol=1e-13)
    np.testing.assert_allclose(by_callable, by_number, rtol=0, atol=1e-13)


def test_learning_rate_schedule_is_followed_step_by_step(case):
    """A schedule moves the weights as a learning rate set before each step does."""
    rates = [0.5, 0.25, 0.125]
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0, 1], rates)
    scheduled = Training(lambda: optimizers.create(case.name, learning_rate=schedule))
    by_hand = Training(lambda: optimizers.create(case.name, learning_rate=1.0))
    rows = []
    for rate in rates:
        by_hand.optimizer.learning_rate = rate
        rows.append(by_hand.run(1, "eager")[0])
    np.testing.assert_array_equal(scheduled.run(3), rows)
    config = scheduled.optimizer.get_config()
    again = type(scheduled.optimizer).from_config(config)
    assert float(again.learning_rate) == rates[0]
