import pytest
import tensorflow as tf

from components.trainer import strategy as strategies
from components.trainer.strategy import StrategyError


@pytest.mark.parametrize(
    ("name", "replicas"),
    [("default", 1), ("one_device", 1), ("mirrored:1", 1), ("mirrored:2", 2), ("mirrored:8", 8)],
)
def test_number_of_replicas(name, replicas):
    assert strategies.create(name).num_replicas_in_sync == replicas


def test_mirrored_takes_every_device_of_its_kind():
    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    expected = len(tf.config.list_logical_devices(kind))
    assert strategies.create("mirrored").num_replicas_in_sync == expected


def test_strategies_of_different_sizes_live_in_one_process():
    for name, total in [("mirrored:2", 3), ("mirrored:4", 10), ("mirrored:2", 3)]:
        strategy = strategies.create(name)

        @tf.function
        def run(strategy=strategy):
            return strategy.run(
                lambda: strategies.sum_over_replicas(
                    tf.distribute.get_replica_context().replica_id_in_sync_group + 1
                )
            )

        assert [int(value) for value in strategy.experimental_local_results(run())] == [
            total
        ] * strategy.num_replicas_in_sync


@pytest.mark.parametrize("name", ["cpu", "mirrored:0", "mirrored:-1", "mirrored:two", "Mirrored"])
def test_unknown_name(name):
    with pytest.raises(StrategyError, match=rf"must be one of .*mirrored:N.*, got '{name}'"):
        strategies.create(name)


def test_more_replicas_than_devices_once_tensorflow_runs():
    tf.constant(0)
    with pytest.raises(StrategyError, match="1000 logical CPUs.*has started with.*new process"):
        strategies.create("mirrored:1000")


@pytest.mark.parametrize(
    "config",
    [
        None,
        "{}",
        "not json",
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"index": 0}}',
        # The chief and the first worker would both write the model.
        '{"cluster": {"chief": ["a:1"], "worker": ["b"]}, "task": {"type": "chief", "index": 0}}',
        '{"cluster": {"chief": ["a:1"], "worker": ["b"]}, "task": {"type": "worker", "index": 0}}',
    ],
)
def test_multi_worker_without_a_cluster(monkeypatch, config):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(StrategyError, match="multi_worker needs TF_CONFIG="):
        strategies.create("multi_worker")


def test_tpu_without_a_tpu(monkeypatch):
    for name in ("TPU_NAME", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StrategyError, match="tpu needs a TPU"):
        strategies.create("tpu")


def test_replica_local_variables_are_checkpointed(tmp_path):
    strategy = strategies.create("mirrored:2")
    with strategy.scope():
        variable = strategies.replica_local(0, tf.int64, "count")
    strategy.run(lambda: variable.assign(7))
    path = tf.train.Checkpoint(variable=variable).write(str(tmp_path / "checkpoint"))
    strategy.run(lambda: variable.assign(1))
    tf.train.Checkpoint(variable=variable).read(path).assert_consumed()
    copies = strategy.experimental_local_results(strategy.run(variable.read_value))
    assert [int(copy) for copy in copies] == [7, 7]


@pytest.mark.parametrize("name", ["default", "mirrored:2"])
def test_one_worker_knows_what_it_knows(name):
    """Several workers: see test_multi_worker."""
    assert strategies.gather(strategies.create(name), [3, 0]).tolist() == [[3, 0]]


def test_the_first_worker_writes_where_it_is_told(tmp_path):
    assert strategies.own_folder(strategies.create("default"), str(tmp_path)) == str(tmp_path)
