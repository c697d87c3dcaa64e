import json
from datetime import datetime, timezone

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials

from kubeflow import vertex
from kubeflow.cron import CronError
from kubeflow.settings import VertexSettings
from tests.kubeflow import specs
from tests.kubeflow.fake_vertex import FakeVertex, bucket_server, serving

NOW = datetime(2030, 1, 1, tzinfo=timezone.utc)


def settings(schedule=None, **fields) -> VertexSettings:
    values = {"project": "p", "region": "europe-west4", **fields}
    return VertexSettings.model_validate({**values, "schedule": schedule or {}})


@pytest.fixture
def fake(authority, monkeypatch):
    """A fake that the client is connected to."""
    fake = FakeVertex()
    with bucket_server() as storage, serving(fake.handlers(), authority) as endpoint:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage)
        vertex.connect(settings(), credentials=AnonymousCredentials(), api_endpoint=endpoint)
        yield fake


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toy.json"
    job = {
        "displayName": "toy",
        "labels": {"pipeline": "toy"},
        "pipelineSpec": specs.pipeline({"first": specs.task()}),
        "runtimeConfig": {"gcsOutputDirectory": "gs://bucket/root"},
    }
    path.write_text(json.dumps(job))
    return path


def create(file, **schedule):
    return vertex.create(vertex.plan("toy", settings(schedule), NOW), file)


def test_submit_sends_the_compiled_pipeline(fake, file):
    name = vertex.submit(
        file,
        "toy",
        settings(service_account="runner@p.iam", network="projects/1/global/networks/n"),
    )
    [request] = fake.jobs
    assert request.parent == "projects/p/locations/europe-west4"
    assert name == request.pipeline_job.name
    job = request.pipeline_job
    assert job.display_name == "toy"
    assert job.runtime_config.gcs_output_directory == "gs://bucket/root"
    assert job.service_account == "runner@p.iam"
    assert job.network == "projects/1/global/networks/n"
    assert dict(job.pipeline_spec["pipelineInfo"]) == {"name": "toy"}


def test_create_sends_when_and_what(fake, file):
    created, replaced = create(
        file,
        cron="0  3 * * 1",
        time_zone="Europe/Paris",
        start="2030-02-01T00:00:00+01:00",
        end="2031-01-01T00:00:00Z",
        max_runs=10,
        max_concurrent_runs=2,
    )
    assert replaced == []
    [sent] = fake.schedules.values()
    assert created.resource == sent.name
    assert sent.cron == "TZ=Europe/Paris 0 3 * * 1"
    assert sent.start_time == datetime(2030, 1, 31, 23, tzinfo=timezone.utc)
    assert sent.end_time == datetime(2031, 1, 1, tzinfo=timezone.utc)
    assert sent.max_run_count == 10
    assert sent.max_concurrent_run_count == 2
    job = sent.create_pipeline_job_request.pipeline_job
    assert dict(job.pipeline_spec["pipelineInfo"]) == {"name": "toy"}


def test_create_replaces_the_schedule_of_that_name_and_no_other(fake, file):
    other, _ = create(file, name="other")
    first, _ = create(file, cron="0 3 * * 1")
    second, replaced = create(file, cron="0 4 * * 1")
    assert [entry.resource for entry in replaced] == [first.resource]
    assert list(fake.schedules) == [other.resource, second.resource]
    assert fake.schedules[second.resource].cron == "TZ=Etc/UTC 0 4 * * 1"
    # The new one first, so that there is one at any moment.
    assert fake.calls[-2:] == [("create", second.resource), ("delete", first.resource)]


def test_a_refused_schedule_leaves_the_old_one(fake, file):
    first, _ = create(file)
    fake.fail_create = True
    with pytest.raises(exceptions.InvalidArgument, match="refused"):
        create(file)
    assert list(fake.schedules) == [first.resource]


def test_a_paused_schedule_stays_paused_when_replaced(fake, file):
    create(file)
    vertex.pause("toy")
    created, _ = create(file)
    assert created.state == "PAUSED"
    assert fake.schedules[created.resource].state.name == "PAUSED"


@pytest.mark.parametrize("catch_up", [True, False])
def test_pause_and_resume(fake, file, catch_up):
    created, _ = create(file)
    vertex.pause("toy")
    assert [entry.state for entry in vertex.schedules()] == ["PAUSED"]
    vertex.resume("toy", catch_up=catch_up)
    assert [entry.state for entry in vertex.schedules()] == ["ACTIVE"]
    assert fake.resumed == {created.resource: catch_up}


def test_delete(fake, file):
    create(file, name="other")
    create(file)
    vertex.delete("toy")
    assert [entry.name for entry in vertex.schedules()] == ["other"]


@pytest.mark.parametrize("action", [vertex.pause, vertex.delete])
def test_an_unknown_schedule_is_refused_with_those_there_are(fake, file, action):
    create(file)
    with pytest.raises(vertex.VertexError, match="no schedule 'toi'; there are: toy"):
        action("toi")


def test_a_plan_has_the_next_five_runs():
    plan = vertex.plan("toy", settings({"cron": "0 3 * * *", "time_zone": "Europe/Paris"}), NOW)
    assert [run.isoformat() for run in plan.next_runs] == [
        f"2030-01-0{day}T03:00:00+01:00" for day in range(1, 6)
    ]


def test_a_plan_has_no_more_runs_than_it_may():
    plan = vertex.plan("toy", settings({"cron": "0 3 * * *", "max_runs": 2}), NOW)
    assert len(plan.next_runs) == 2


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"cron": "0 0 3 * * 1"}, "6 fields, 5 are needed"),
        ({"time_zone": "Europe/Pariss"}, "did you mean Europe/Paris"),
        ({"start": "tomorrow"}, "vertex.schedule.start must be"),
        ({"end": "2029-01-01T00:00:00Z"}, "not after now"),
        ({"start": "2030-03-01T00:00:00Z", "end": "2030-02-01T00:00:00Z"}, "not after the start"),
        ({"cron": "0 3 29 2 *", "end": "2031-01-01T00:00:00Z"}, "no time before"),
    ],
)
def test_a_wrong_schedule_is_refused_before_anything_is_sent(schedule, message):
    with pytest.raises(CronError, match=message):
        vertex.plan("toy", settings(schedule), NOW)


def test_a_project_is_needed():
    with pytest.raises(vertex.VertexError, match=r"vertex\.project"):
        vertex.connect(settings(project=""))
