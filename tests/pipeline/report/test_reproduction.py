import os
import subprocess

import pytest
import yaml

from pipeline.config import Settings, load
from pipeline.report import reproduction

DEFAULTS = load(environment={}).model_dump(mode="json")


def overrides(command: str) -> list[str]:
    """What a shell makes of the command: the settings that it gives to --set."""
    script = 'python() { printf \'%s\\0\' "$PWD" "$@"; }\n' + command
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    words = printed.stdout.split("\0")[:-1]
    assert words[:4] == [os.getcwd(), "-m", "pipeline", "run"]
    assert words[4::2] == ["--set"] * len(words[5::2])
    return words[5::2]


def test_the_defaults_need_no_flags():
    assert reproduction.differences(DEFAULTS, DEFAULTS) == {}
    assert reproduction.command({}, "/my models") == "cd '/my models'\npython -m pipeline run"


def test_differences_are_named_as_flags_name_them():
    settings = load("smoke", ["optimizer.learning_rate=0.002"], environment={})
    different = reproduction.differences(settings.model_dump(mode="json"), DEFAULTS)
    assert different["train.epochs"] == 2
    assert different["optimizer.learning_rate"] == 0.002
    assert "train.batch_size" not in different


@pytest.mark.parametrize(
    "changes",
    [
        ["train.epochs=7"],
        ["push.destination=/a folder/with 'quotes' & more"],
        ["train.gradients=[{name: clip_by_global_norm, max_norm: 1.0}, {name: centralize}]"],
        ["train.model_arguments={l2: 1e-4, dropout: 0.5}", "train.jit_compile=true"],
        ["optimizer.name=keras:Adam", "optimizer.learning_rate=1e-5", "optimizer.amsgrad=true"],
        ["data.sha256={a-b.gz: abc, c.d: def}", "data.source=https://example.org/?a=1&b=2"],
        ["data.source='1e-3'", "cache=false", "beam.args=[]"],
    ],
)
def test_the_command_gives_the_same_settings_again(changes):
    settings = load(overrides=changes, environment={})
    # As the run keeps them.
    kept = yaml.safe_load(settings.as_yaml())

    command = reproduction.command(reproduction.differences(kept, DEFAULTS), os.getcwd())

    assert load(overrides=overrides(command), environment={}) == settings


def test_the_command_reads_well():
    settings = Settings(cache=False, train={"epochs": 3}).model_dump(mode="json")
    different = reproduction.differences(settings, DEFAULTS)
    assert reproduction.command(different, "/work") == (
        "cd /work\npython -m pipeline run \\\n  --set cache=false \\\n  --set train.epochs=3"
    )
