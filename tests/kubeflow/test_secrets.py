import pytest

from kubeflow import compile as compiler
from pipeline import config
from tests.support import planted_secrets

SETTINGS = (
    "data.source=gs://bucket/data",
    "push.destination=gs://bucket/serving",
    "root=gs://bucket/root",
    "vertex.project=project",
)


@pytest.mark.parametrize("target", ["kubeflow", "vertex"])
def test_no_secret_of_the_environment_is_compiled_into_a_file(tmp_path, monkeypatch, target):
    for name, value in planted_secrets.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    compiled = compiler.compile_project(config.load("local", SETTINGS), target)
    (tmp_path / "compiled").mkdir()
    compiler.write(compiled, tmp_path / "compiled" / f"file{compiled.suffix}")
    assert planted_secrets.files_with_secrets(tmp_path / "compiled") == []
    assert planted_secrets.files_with_secrets(tmp_path) == [
        tmp_path / "key.json"
    ]  # the search finds
