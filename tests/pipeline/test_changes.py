import shlex

import pytest

from pipeline import changes, config


def settings(*overrides, base="local"):
    return config.load(base, overrides, environment={})


def dumped(*overrides):
    return settings(*overrides).model_dump(mode="json")


def test_the_defaults_are_no_change_wherever_things_lie():
    assert changes.from_defaults(dumped()) == {}
    assert changes.from_defaults(dumped("root=/elsewhere", "data.directory=/data")) == {}


def test_a_setting_that_is_a_dictionary_is_one_value():
    found = changes.from_defaults(
        dumped("train.model_arguments={l2: 1e-4}", "optimizer.learning_rate=0.01")
    )
    assert found == {"train.model_arguments": {"l2": 1e-4}, "optimizer.learning_rate": 0.01}


def test_settings_of_an_older_version_can_be_compared():
    old = {"train": {"epochs": 3, "shuffle": True}, "gone": {"a": 1}}
    assert changes.flat(old) == {"train.epochs": 3, "train.shuffle": True, "gone": {"a": 1}}
    found = changes.between(old, {"train": {"epochs": 3, "seed": 0}})
    assert found == {
        "train.shuffle": (True, None),
        "train.seed": (None, 0),
        "gone": ({"a": 1}, None),
    }


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["train.epochs=3", "optimizer.name=keras:Adam", "optimizer.learning_rate=1e-3"],
        ["data.source=/tmp/my data's folder", "evaluate.min_accuracy=0.9"],
        ["train.gradients=[{name: clip_by_global_norm, max_norm: 1.0}]", "train.jit_compile=true"],
        ["data.sha256={a-b.gz: abc, c.d: def}", "data.source=https://example.org/a&b"],
        ["data.source='1e-3'", "optimizer.amsgrad=true", "optimizer.name=keras:Adam"],
        ["train.class_weights={1: 2.5}", 'train.model_arguments={name: "1e-3"}'],
    ],
)
def test_the_command_gives_the_settings_back(overrides):
    made = settings(*overrides, "push.destination=/serving", "cache=false", "name=other")
    words = shlex.split(changes.command(changes.decisive(made)).replace("\\\n", ""))
    assert words[:4] == ["python", "-m", "pipeline", "run"]
    assert words[4::2] == ["--set"] * len(words[5::2])
    again = settings(*words[5::2])
    for section in ("data", "train", "optimizer", "evaluate"):
        assert getattr(again, section) == getattr(made, section)
    assert not any(word.startswith(("push", "cache", "name")) for word in words)


@pytest.mark.parametrize("value", ["yes", "null", "3", "1.5", "", "[a]", "a: b", "1e-3", "a\nb"])
def test_text_that_looks_like_something_else_stays_text(value):
    made = settings().model_copy(
        update={"data": settings().data.model_copy(update={"source": value})}
    )
    words = shlex.split(changes.command(changes.decisive(made)).replace("\\\n", ""))
    assert settings(*words[5::2]).data.source == value
