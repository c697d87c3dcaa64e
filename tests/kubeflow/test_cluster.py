from datetime import datetime, timezone

import pytest
import yaml

from kubeflow import cluster
from kubeflow.cron import CronError
from kubeflow.settings import KubeflowSettings
from tests.kubeflow import specs
from tests.kubeflow.fake_kubeflow import FakeKubeflow

SPEC = specs.pipeline({"first": specs.task()})
TOLERATION = {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}
PLATFORM = {
    "platforms": {
        "kubernetes": {
            "deploymentSpec": {"executors": {"exec-first": {"tolerations": [TOLERATION]}}}
        }
    }
}


@pytest.fixture
def fake():
    return FakeKubeflow()


@pytest.fixture
def settings(fake):
    with fake.serving() as url:
        yield KubeflowSettings(
            host=url, experiment="digits", service_account="runner", cron="0 0 3 * * 1"
        )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump_all([SPEC, PLATFORM]))
    return path


def test_submit_sends_both_documents(fake, settings, file):
    run = cluster.submit(cluster.connect(settings), file, "toy", settings)
    assert run == "run-1"
    [sent] = fake.runs
    assert sent["display_name"] == "toy"
    assert sent["experiment_id"] == "experiment-digits"
    assert sent["service_account"] == "runner"
    assert sent["pipeline_spec"]["pipeline_spec"]["root"] == SPEC["root"]
    assert sent["pipeline_spec"]["platform_spec"] == PLATFORM


def test_a_recurring_run_has_six_fields_and_does_not_catch_up(fake, settings, file):
    recurring = cluster.recur(cluster.connect(settings), file, "toy", settings)
    sent = fake.recurring[recurring]
    assert sent["trigger"]["cron_schedule"]["cron"] == "0 0 3 * * 1"
    assert sent["no_catchup"] is True
    assert sent["max_concurrency"] == 1
    assert sent["pipeline_spec"]["platform_spec"] == PLATFORM


def test_a_recurring_run_replaces_those_of_its_name_and_no_other(fake, settings, file):
    client = cluster.connect(settings)
    other = cluster.recur(client, file, "other", settings)
    first = cluster.recur(client, file, "toy", settings)
    second = cluster.recur(client, file, "toy", settings)
    assert first != second
    assert list(fake.recurring) == [other, second]


def test_a_wrong_cron_is_refused_before_anything_is_sent(fake, settings, file):
    client = cluster.connect(settings)
    fake.calls.clear()
    with pytest.raises(CronError, match="5 fields, 6 are needed"):
        cluster.recur(client, file, "toy", settings.model_copy(update={"cron": "0 3 * * 1"}))
    assert fake.calls == []


def test_the_next_runs_are_shown_in_the_time_of_the_server(settings):
    runs = cluster.check_cron(settings, datetime(2030, 1, 1, tzinfo=timezone.utc))
    assert [run.isoformat() for run in runs[:2]] == [
        "2030-01-07T03:00:00+00:00",
        "2030-01-14T03:00:00+00:00",
    ]


def test_the_token_comes_from_the_environment(fake, settings, file, monkeypatch):
    monkeypatch.setenv(cluster.TOKEN, "secret")
    cluster.submit(cluster.connect(settings), file, "toy", settings)
    assert fake.tokens == {"Bearer secret"}


def test_a_host_is_needed():
    with pytest.raises(cluster.ClusterError, match=r"kubeflow\.host"):
        cluster.connect(KubeflowSettings())
