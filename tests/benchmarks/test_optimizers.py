"""The comparison of optimizers, on little data."""

import numpy as np
import pytest

from benchmarks import optimizers as benchmark
from components.trainer import inputs, optimizers
from schemas import data_sets, mnist

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def examples() -> inputs.Examples:
    """Images whose class is how bright they are; 300, so that the last batch is a partial one."""
    labels = np.arange(300) % data_sets.MNIST.num_classes
    images = np.broadcast_to(25 * labels[:, None, None], (300, mnist.HEIGHT, mnist.WIDTH))
    return {mnist.IMAGE: images.astype("uint8"), mnist.LABEL: labels.astype("int64")}


@pytest.mark.parametrize("contender", benchmark.CONTENDERS, ids=lambda c: c.name)
def test_every_contender_can_be_made(contender):
    """Those of Keras where this version of Keras has them."""
    if contender.name in optimizers.names():
        assert contender.create(steps=10).get_config()
    else:
        assert contender.name == "keras:ScheduleFreeAdamW"


def test_every_optimizer_of_ours_takes_part():
    assert set(optimizers.OPTIMIZERS) <= {c.name for c in benchmark.CONTENDERS}


def test_preparation_leaves_no_trace(examples):
    """Compiling takes a step; weights and optimizer are as if it had not been taken."""
    contender = benchmark.Contender("ours", "schedule_free_adamw")
    loop, _ = benchmark.prepare(contender, examples, steps=1, seed=7)
    fresh = benchmark.models.create("cnn", seed=7)
    for ours, theirs in zip(loop.model.get_weights(), fresh.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert int(loop.optimizer.iterations.numpy()) == 0


def test_run_learns_and_reports_each_epoch(examples):
    contender = benchmark.Contender("ours", "keras:Adam", lambda steps: {"learning_rate": 0.003})
    result = benchmark.run(contender, examples, examples, epochs=4, seed=0)
    assert len(result.accuracy) == len(result.seconds) == 4
    assert all(np.diff([0, *result.seconds]) > 0)
    assert result.accuracy[-1] > 0.15  # by chance 0.1


def test_table_and_plot(tmp_path):
    results = {
        "Ours": [
            benchmark.Run([0.98, 0.99, 0.994], [1.0, 2.0, 3.0]),
            benchmark.Run([0.97, 0.98, 0.990], [2.0, 4.0, 6.0]),
            benchmark.Run([0.96, 0.985, 0.993], [2.0, 4.0, 9.0]),
        ],
        "Keras Adam": [benchmark.Run([0.9, 0.95, 0.96], [1.0, 2.0, 4.5])],
    }
    page = benchmark.table(results, "make it")
    assert "| optimizer | epoch 1 | epoch 2 | epoch 3 | range | s per epoch |" in page
    assert "| Ours | 97.00 | 98.50 | 99.30 | 99.00 to 99.40 | 2.0 |" in page
    assert "| Keras Adam | 90.00 | 95.00 | 96.00 | 96.00 to 96.00 | 1.5 |" in page
    assert "`make it`" in page
    benchmark.plot(results, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
