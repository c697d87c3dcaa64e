import pytest

from kubeflow import storage, targets
from pipeline import config
from pipeline.config import ConfigError
from pipeline.engines import options


def settings(*overrides: str):
    return config.load("local", overrides, environment={})


def test_tpu_reaches_the_strategy_and_no_other_setting():
    before = settings("kubeflow.tpu=v5e:2x2")
    after = targets.resolve(before, "kubeflow")
    assert after.train.strategy == "tpu"
    assert after.train.model_copy(update={"strategy": "default"}) == before.train
    assert targets.resolve(before, "vertex").train.strategy == "default"


@pytest.mark.parametrize(("count", "strategy"), [(1, "default"), (4, "mirrored:4")])
def test_gpus_choose_the_strategy(count, strategy):
    resolved = targets.resolve(settings(f"kubeflow.gpu=nvidia-l4:{count}"), "kubeflow")
    assert resolved.train.strategy == strategy


def test_a_strategy_that_was_set_stays():
    resolved = targets.resolve(
        settings("kubeflow.gpu=nvidia-l4:4", "train.strategy=mirrored:2"), "kubeflow"
    )
    assert resolved.train.strategy == "mirrored:2"


def test_root_of_the_platform_wins():
    with_root = settings("root=/tmp/a", "kubeflow.root=gs://b/c")
    assert targets.resolve(with_root, "kubeflow").root == "gs://b/c"
    assert targets.resolve(with_root, "vertex").root == "/tmp/a"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["kubeflow.tpu=v5e:4x4"], "kubeflow.tpu.*more than one host"),
        (["kubeflow.tpu=v5e:2x2", "kubeflow.gpu=nvidia-l4:1"], "one or the other"),
        (["kubeflow.root=minio://mlpipeline/v2"], "kubeflow.root.*minio.*default of Kubeflow"),
        (["kubeflow.root=s3://b"], "S3"),
        (["push.destination=s3://b"], "push.destination"),
    ],
)
def test_kubeflow_settings_that_cannot_work_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        targets.resolve(settings(*overrides), "kubeflow")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["vertex.tpu=v6e:2x2", "vertex.project=p"], "v6e"),
        (["vertex.tpu=v5e:2x2"], "vertex.project"),
        (["vertex.endpoint.name=digits"], "vertex.project"),
    ],
)
def test_vertex_settings_that_cannot_work_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        targets.resolve(settings(*overrides), "vertex")


def test_a_remote_run_needs_places_that_every_container_sees():
    local = settings("vertex.data=/app/data/mnist")
    with pytest.raises(storage.StorageError, match=r"vertex.root.*folder of this machine"):
        targets.require_remote(local, "vertex")
    root = settings("vertex.data=/app/data/mnist", "vertex.root=gs://b/r")
    with pytest.raises(storage.StorageError, match=r"push\.destination"):
        targets.require_remote(root, "vertex")
    bucket = ["vertex.root=gs://b/r", "push.destination=gs://b/p"]
    with pytest.raises(ConfigError, match=r"vertex\.data.*/app/data/mnist"):
        targets.require_remote(settings(*bucket), "vertex")
    targets.require_remote(settings(*bucket, "vertex.data=/app/data/mnist"), "vertex")
    targets.require_remote(settings(*bucket, "data.source=gs://b/d"), "vertex")


def test_workers_are_containers_of_the_image_of_the_platform():
    flink = settings("kubeflow.image=i:1", "beam.engine=flink", "beam.address=http://f:8081")
    args = options.beam_args(targets.resolve(flink, "kubeflow"))
    assert "--environment_config=i:1" in args and "--sdk_container_image=i:1" in args
    own = settings(
        "kubeflow.image=i:1", "beam.image=j:2", "beam.engine=flink", "beam.address=http://f:1"
    )
    assert "--environment_config=j:2" in options.beam_args(targets.resolve(own, "kubeflow"))


def test_dataflow_on_vertex_needs_no_setting_more():
    dataflow = settings(
        "beam.engine=dataflow", "vertex.project=p", "vertex.image=i:1", "vertex.root=gs://b/r"
    )
    assert options.beam_args(targets.resolve(dataflow, "vertex")) == [
        "--runner=DataflowRunner",
        "--project=p",
        "--region=us-central1",
        "--temp_location=gs://b/r/beam-temp",
        "--sdk_container_image=i:1",
    ]
    with pytest.raises(ConfigError, match=r"needs beam\.dataflow\.project"):
        targets.resolve(dataflow, "kubeflow")


def test_a_node_on_a_platform_starts_no_job_service():
    with pytest.raises(ConfigError, match=r"portable on kubeflow needs beam\.job_endpoint"):
        targets.resolve(settings("beam.engine=portable"), "kubeflow")
    targets.resolve(settings("beam.engine=portable", "beam.job_endpoint=h:1"), "kubeflow")


@pytest.mark.parametrize("uri", ["/a/b", "gs://b/c", "relative"])
def test_openable_places(uri):
    storage.require_openable(uri, "it")


@pytest.mark.parametrize("uri", ["minio://a/b", "s3://a/b", "hdfs://a", "oci://x"])
def test_other_places_are_refused_with_what_to_do(uri):
    with pytest.raises(storage.StorageError, match=r"it is .*gs://BUCKET/FOLDER"):
        storage.require_openable(uri, "it")
