import numpy as np
import pytest
import tensorflow as tf

from components.trainer import models, signatures, warm_start


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    model = models.create("sequence", seed=1)
    for variable in model.weights:
        variable.assign(np.random.default_rng(0).random(variable.shape))
    folder = str(tmp_path_factory.mktemp("pushed"))
    signatures.export(model, folder)
    return model, folder


def values(model):
    return {variable.path: np.array(variable) for variable in model.weights}


def test_every_weight_comes_over_statistics_included(pushed):
    source, folder = pushed
    model = models.create("sequence", seed=2)
    result = warm_start.load(model, folder)
    assert not result.fresh
    assert any("moving_variance" in path for path in result.loaded)
    for path, value in values(source).items():
        np.testing.assert_array_equal(values(model)[path], value)


def test_a_weight_of_another_shape_stays_fresh_and_is_named(pushed):
    _, folder = pushed
    model = models.create("sequence", seed=2, num_classes=26)
    before = values(model)
    result = warm_start.load(model, folder)
    assert set(result.fresh) == {"logits/kernel", "logits/bias"}
    assert f"warm start took over {len(before) - 2} of {len(before)} weights" in str(result)
    assert "its shape is [10] there, [26] here" in str(result)
    np.testing.assert_array_equal(values(model)["logits/kernel"], before["logits/kernel"])


def test_another_model_takes_over_what_it_shares(pushed):
    _, folder = pushed
    result = warm_start.load(models.create("mlp", seed=2), folder)
    assert "the pushed model has no such weight" in str(result)


def test_without_a_pushed_model_all_stays_fresh(tmp_path):
    model = models.create("mlp", seed=2)
    before = values(model)
    result = warm_start.load(model, str(tmp_path / "none"))
    assert not result.loaded
    assert set(result.fresh) == set(before)
    for path, value in values(model).items():
        np.testing.assert_array_equal(value, before[path])


def test_it_works_on_replicas(pushed):
    source, folder = pushed
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = models.create("sequence", seed=2)
        warm_start.load(model, folder)
    for path, value in values(source).items():
        np.testing.assert_array_equal(values(model)[path], value)
