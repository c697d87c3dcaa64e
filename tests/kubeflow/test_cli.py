import json

import pytest
import yaml
from typer.testing import CliRunner

from kubeflow import cli
from tests.kubeflow import specs
from tests.kubeflow.fake_kubeflow import FakeKubeflow

REMOTE = [
    "--set",
    "data.source=gs://bucket/data",
    "--set",
    "root=gs://bucket/root",
    "--set",
    "push.destination=gs://bucket/serving",
]


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.app, arguments)


@pytest.mark.parametrize(("target", "suffix"), [("kubeflow", "yaml"), ("vertex", "json")])
def test_compile(workplace, target, suffix):
    command = ["compile", "--target", target, *REMOTE]
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == f"compiled/mnist.{suffix}"
    assert (workplace / "compiled" / f"mnist.{suffix}").exists()
    assert "(unchanged)" in run(*command).stdout
    assert run(*command, "--diff").stdout == ""
    changed = run(*command, "--set", "train.epochs=8", "--diff").stdout
    assert "epochs" in changed
    assert "(unchanged)" in run(*command).stdout


def test_settings_that_make_no_sense_are_refused_in_one_line():
    result = run("compile", "--target", "kubeflow", "--set", "kubeflow.tpu=v5e:4x4")
    assert result.exit_code == 2
    assert "choose one of v5e:1x1, v5e:2x2, v5e:2x4" in result.stderr
    assert result.stderr.count("\n") == 1


def test_submit_refuses_places_of_this_machine():
    result = run("submit", "--target", "kubeflow", "--host", "http://localhost:1")
    assert result.exit_code == 2
    assert "kubeflow.root is" in result.stderr


def test_submit_to_kubeflow():
    fake = FakeKubeflow()
    with fake.serving() as url:
        result = run("submit", "--target", "kubeflow", "--host", url, *REMOTE)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "run-1"
    [sent] = fake.runs
    tasks = sent["pipeline_spec"]["pipeline_spec"]["root"]["dag"]["tasks"]
    assert "trainer" in tasks


def test_a_recurring_run_shows_its_next_runs():
    fake = FakeKubeflow()
    cron = ["--set", "kubeflow.cron=0 0 3 * * 1"]
    with fake.serving() as url:
        result = run("submit", "--target", "kubeflow", "--host", url, "--recurring", *cron, *REMOTE)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("T03:00+00:00") == 5
    assert len(fake.recurring) == 1


def test_a_host_that_does_not_answer_is_an_error_in_one_paragraph():
    result = run("submit", "--target", "kubeflow", "--host", "http://127.0.0.1:9", *REMOTE)
    assert result.exit_code == 1
    assert "127.0.0.1" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command", [["schedule", "list"], ["submit", "--target", "vertex", *REMOTE]]
)
def test_vertex_needs_a_project(command):
    result = run(*command)
    assert result.exit_code == 1
    assert "vertex.project" in result.stderr


def test_a_dry_run_shows_the_request_and_the_next_runs():
    result = run(
        "schedule",
        "create",
        "--dry-run",
        "--set",
        "vertex.schedule.cron=0 3 * * *",
        "--set",
        "vertex.schedule.time_zone=Europe/Paris",
        "--set",
        "vertex.schedule.max_runs=4",
    )
    assert result.exit_code == 0, result.output
    request, _, times = result.stdout.partition("next runs:")
    assert json.loads(request) == {
        "display_name": "mnist",
        "cron": "TZ=Europe/Paris 0 3 * * *",
        "max_run_count": 4,
        "max_concurrent_run_count": 1,
    }
    assert times.count("T03:00+0") == 4


def test_a_wrong_cron_is_refused():
    result = run("schedule", "create", "--dry-run", "--set", "vertex.schedule.cron=0 0 3 * * *")
    assert result.exit_code == 2
    assert "6 fields, 5 are needed" in result.stderr


def test_launch(workplace):
    path = workplace / "p.yaml"
    path.write_text(yaml.safe_dump(specs.pipeline({"a": specs.task(), "b": specs.task("a")})))
    result = run("launch", str(path), "--rules", "kubeflow", "--root", "root")
    assert result.exit_code == 0, result.output
    assert "2 tasks done, 0 skipped" in result.stdout
    assert (workplace / "runs" / "launch").exists()


def test_launch_shows_the_end_of_the_log_of_what_failed(workplace):
    path = workplace / "p.yaml"
    program = "raise SystemExit('the reason')"
    path.write_text(yaml.safe_dump(specs.pipeline({"a": specs.task()}, program)))
    result = run("launch", str(path), "--rules", "kubeflow", "--root", "root")
    assert result.exit_code == 1
    assert "task 'a' failed with exit code 1" in result.stderr
    assert "the reason" in result.stderr


def test_launch_refuses_what_the_backend_refuses(workplace):
    path = workplace / "p.yaml"
    path.write_text(yaml.safe_dump(specs.pipeline({"A": specs.task()})))
    result = run("launch", str(path), "--rules", "kubeflow")
    assert result.exit_code == 2
    assert "Argo" in result.stderr
