"""The Dockerfiles, as far as it goes without a Docker engine: lint, what is copied, what starts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubeflow import targets
from pipeline import config

REPOSITORY = Path(__file__).parents[2]
FILES = [REPOSITORY / "kubeflow" / name for name in ("Dockerfile", "Dockerfile.tpu")]


def instructions(file: Path) -> list[tuple[str, str]]:
    """(instruction, arguments) of each stage in order, with continued lines joined."""
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def last_stage(file: Path) -> list[tuple[str, str]]:
    steps = instructions(file)
    starts = [index for index, (name, _) in enumerate(steps) if name == "FROM"]
    return steps[starts[-1] :]


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.name)
def file(request):
    return request.param


@pytest.fixture(scope="module")
def image(file, tmp_path_factory):
    """A folder with what the last stage copies from the checkout, as /app."""
    app = tmp_path_factory.mktemp("image") / "app"
    app.mkdir()
    for name, arguments in last_stage(file):
        if name == "COPY" and not arguments.startswith("--from"):
            source, target = arguments.split()
            shutil.copytree(
                REPOSITORY / source, app / target, ignore=shutil.ignore_patterns("__pycache__")
            )
    return app


def start(image, *arguments):
    """Runs the image's Python with nothing of the checkout in reach."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=image,
        env={**environment, "PYTHONPATH": str(image)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_hadolint_has_nothing_to_say(file):
    hadolint = Path(sys.executable).with_name("hadolint")
    process = subprocess.run([hadolint, file], capture_output=True, text=True, check=False)
    assert process.stdout == ""
    assert process.returncode == 0


def test_the_last_stage_has_no_compiler_and_no_root(file):
    stage = last_stage(file)
    text = "\n".join(arguments for _, arguments in stage)
    assert not re.search(r"g\+\+|gcc|build-essential|apt-get", text)
    users = [arguments for name, arguments in stage if name == "USER"]
    # Kubernetes can tell that an image does not run as root by a number only.
    assert users == ["1000:1000"]
    assert [name for name, _ in stage][-2:] == ["USER", "CMD"]


def test_all_packages_are_checked_by_hash(file):
    commands = [arguments for name, arguments in instructions(file) if name == "RUN"]
    installs = re.findall(r"pip (?:install|sync) [^&;]*", " ".join(commands))
    # What has no hash says exactly which release it is.
    assert installs
    assert all("--require-hashes" in part or "==" in part for part in installs)


def test_no_development_tools_are_left(file):
    project = (REPOSITORY / "pyproject.toml").read_text()
    tools = re.findall(r'"([\w-]+)', re.search(r"\ndev = \[(.*?)\]", project, re.DOTALL)[1])
    build = " ".join(arguments for name, arguments in instructions(file) if name == "RUN")
    [removed] = re.findall(r"pip uninstall ([^&;]*)", build)
    assert set(tools) <= set(removed.split())


def test_the_context_has_what_is_copied(file):
    ignore = file.with_name(f"{file.name}.dockerignore").read_text().split()
    assert "*" in ignore
    for name, arguments in instructions(file):
        if name == "COPY" and not arguments.startswith("--from"):
            for source in arguments.split()[:-1]:
                assert (REPOSITORY / source).exists()
                assert f"!{source}" in ignore


def test_the_tpu_image_names_the_release_of_the_lock():
    lock = (REPOSITORY / "requirements.lock").read_text()
    [release] = re.findall(r"^tensorflow==(2\.16\.\d+)", lock, re.MULTILINE)
    text = (REPOSITORY / "kubeflow" / "Dockerfile.tpu").read_text()
    assert f"tensorflow-tpu=={release}" in text


def test_the_worker_of_beam_is_of_the_release_of_the_lock():
    lock = (REPOSITORY / "requirements.lock").read_text()
    first, second = re.findall(r"^apache-beam==(\S+)", lock, re.MULTILINE)
    text = FILES[0].read_text()
    assert f"\nARG BEAM={first}\n" in text
    assert f"--build-arg PYTHON=3.13 --build-arg BEAM={second} " in text
    assert ("FROM", "apache/beam_python${PYTHON}_sdk:${BEAM} AS beam") in instructions(FILES[0])


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--id=1", "--logging_endpoint=a b"], "boot\n--id=1\n--logging_endpoint=a b\n"),
        (["--worker_pool"], "boot\n--worker_pool\n"),
        (["printf", "%s\n", "a b"], "a b\n"),
    ],
)
def test_engines_start_workers_and_everybody_else_a_command(tmp_path, arguments, output):
    boot = "/opt/apache/beam/boot"
    stage = last_stage(FILES[0])
    assert ("COPY", "--from=beam /opt/apache/beam /opt/apache/beam") in stage
    # Else Beam makes an environment that has none of the image's packages.
    assert any("RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1" in a for name, a in stage if name == "ENV")
    [entry] = [arguments for name, arguments in stage if name == "ENTRYPOINT"]
    shell, script = re.findall(r'"([^"]+)"', entry)
    text = (REPOSITORY / Path(script).relative_to("/app")).read_text()
    fake = tmp_path / "boot"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' boot \"$@\"\n")
    fake.chmod(0o755)
    copy = tmp_path / "start.sh"
    assert boot in text
    copy.write_text(text.replace(boot, str(fake)))
    process = subprocess.run([shell, copy, *arguments], capture_output=True, text=True, check=True)
    assert process.stdout == output


def test_both_images_have_the_same_code():
    def copied(file):
        return [a for name, a in last_stage(file) if name == "COPY" and "--from" not in a]

    assert copied(FILES[0]) == copied(FILES[1])


@pytest.mark.parametrize("file", FILES[:1], indirect=True, ids=["Dockerfile"])
def test_every_module_of_the_pipeline_is_in_the_image(image):
    modules = "components.trainer.module, kubeflow.compile, kubeflow.retrain, pipeline.pipeline"
    program = f"import {modules}; print(pipeline.pipeline.__file__)"
    process = start(image, "-c", program)
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout.splitlines()[-1] == str(image / "pipeline" / "pipeline.py")


def test_the_command_starts(file, image):
    [command] = [arguments for name, arguments in last_stage(file) if name == "CMD"]
    words = re.findall(r'"([^"]+)"', command)
    assert words[0] == "python"
    process = start(image, *words[1:])
    assert process.returncode == 0, process.stderr
    assert "run" in process.stdout


def test_the_entrypoint_of_the_compiled_pipelines_starts(image):
    process = start(image, "-m", "kubeflow.entrypoint")
    assert process.returncode == 1
    assert "started by pipelines that this project compiles" in process.stderr


def test_the_data_is_where_the_settings_say():
    stage = last_stage(FILES[0])
    assert ("WORKDIR", "/app") in stage
    [fetch] = [a for name, a in stage if name == "RUN" and "python -m pipeline fetch" in a]
    assert "--set" not in fetch
    settings = config.load("local", [], environment={})
    folder = Path(settings.data.directory).relative_to(Path.cwd())
    assert Path("/app") / folder / settings.data.source == Path(targets.IMAGE_DATA)
