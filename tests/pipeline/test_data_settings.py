import pytest

from pipeline.config import ConfigError, load
from pipeline.data_settings import DataSettings
from schemas import data_sets


def settings(*overrides: str, config: str = "local") -> DataSettings:
    return load(config, [f"data.{override}" for override in overrides], environment={}).data


@pytest.mark.parametrize("name", data_sets.BY_NAME)
def test_a_name_may_be_given_as_source_or_as_set(name):
    for given in ([f"source={name}"], [f"set={name}"], [f"source={name}", f"set={name}"]):
        found = settings(*given)
        assert (found.source, found.set) == (name, name)
        assert found.facts == data_sets.BY_NAME[name]


def test_mnist_is_the_default():
    assert settings().facts == data_sets.MNIST


@pytest.mark.parametrize("source", ["/my/letters", "https://host/letters", "gs://bucket/letters"])
def test_files_elsewhere_may_be_of_a_named_data_set(source):
    found = settings(f"source={source}", config="emnist-letters")
    assert (found.source, found.set) == (source, "emnist-letters")
    assert found.facts == data_sets.EMNIST_LETTERS


def test_files_elsewhere_are_a_data_set_of_ones_own_unless_told():
    found = settings("source=/mine")
    assert found.set == ""
    assert found.facts == data_sets.of_own(10)
    told = settings("set=", "source=/mine", config="emnist-letters")
    assert (told.set, told.facts) == ("", found.facts)


@pytest.mark.parametrize(
    ("overrides", "names", "labels"),
    [
        (["classes=3"], ("0", "1", "2"), range(3)),
        (["classes=3", "first_label=1"], ("1", "2", "3"), range(1, 4)),
        (["label_names=[cat, dog]"], ("cat", "dog"), range(2)),
        (["label_names=[cat, dog]", "classes=2", "first_label=7"], ("cat", "dog"), range(7, 9)),
        (["classes=256"], tuple(map(str, range(256))), range(256)),
    ],
)
def test_a_data_set_of_ones_own_is_described_by_settings(overrides, names, labels):
    facts = settings("source=/mine", "transposed=true", *overrides).facts
    assert (facts.name, facts.label_names, facts.labels) == ("", names, labels)
    assert facts.transposed


def test_printed_settings_load_to_the_same(tmp_path):
    file = tmp_path / "settings.yaml"
    for overrides in (["data.source=/mine", "data.label_names=[a, b]"], ["data.source=kmnist"]):
        before = load(overrides=overrides, environment={})
        file.write_text(before.as_yaml())
        assert load(str(file), environment={}) == before


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["source=mnist", "set=kmnist"], "source is mnist, but set is 'kmnist'; leave out one"),
        (["set=mist"], "set must be one of mnist, fashion-mnist, .* or empty, got 'mist'"),
        (["classes=5"], "classes is for a data set of your own, this is mnist"),
        (["set=kmnist", "transposed=true"], "transposed is for a data set of your own.* kmnist"),
        (["source=/m", "classes=1"], "there must be at least 2 classes, got 1"),
        (["source=/m", "classes=257"], "data.classes: .* less than or equal to 256, got 257"),
        (["source=/m", "classes=-1"], "data.classes: .* greater than or equal to 0, got -1"),
        (["source=/m", "classes=3", "label_names=[a, b]"], "classes is 3, but there are 2 names"),
        (["source=/m", "label_names=[a]"], "there must be at least 2 classes, got 1"),
        (["source=/m", "label_names=[a, b, a]"], "must name each class differently, got"),
        (["source=/m", "label_names=[a, ' ']"], "must be printable and not blank, got ' '"),
        (["source=/m", r'label_names=[a, "b\n"]'], r"must be printable and not blank, got 'b\\n'"),
        (["source=/m", "label_names=[0, 1]"], r"data.label_names.0: .* valid string, got 0"),
        (["source=/m", "classes=250", "first_label=7"], "first_label 7 and 250 classes exceed 255"),
    ],
)
def test_what_makes_no_sense_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        settings(*overrides)
