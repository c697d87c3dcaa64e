import pytest

from components.data_limits import DataLimits
from components.trainer.settings import CheckpointSettings, TrainSettings
from pipeline import config
from pipeline.config import ConfigError, Settings, load
from schemas import data_sets


def test_defaults_are_the_local_configuration():
    assert load(environment={}) == Settings()


@pytest.mark.parametrize("name", config.bundled())
def test_bundled_configurations_load(name):
    assert isinstance(load(name, environment={}), Settings)


def test_the_learning_rate_of_the_best_model_reaches_zero_in_its_last_step():
    settings = load("best", environment={})
    rate = settings.optimizer.arguments["learning_rate"]["config"]
    train_examples = data_sets.MNIST.examples[0] - settings.data.eval_examples
    steps_per_epoch = -(-train_examples // settings.train.batch_size)
    assert rate["warmup_steps"] == steps_per_epoch
    assert rate["warmup_steps"] + rate["decay_steps"] == settings.train.epochs * steps_per_epoch


def test_flags_win_over_environment_and_environment_over_the_file(tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text("train: {epochs: 1, batch_size: 1, seed: 1}")
    environment = {"MNIST_TFX_TRAIN__BATCH_SIZE": "2", "MNIST_TFX_TRAIN__SEED": "2"}
    train = load(str(file), ["train.seed=3"], environment).train
    assert (train.epochs, train.batch_size, train.seed) == (1, 2, 3)


def test_values_are_read_as_yaml():
    settings = load(
        overrides=[
            "train.gradients=[{name: clip_by_value, limit: 1.0}]",
            "train.jit_compile=true",
            "train.class_weights={3: 2.0}",
        ],
        environment={},
    )
    assert settings.train.gradients == [{"name": "clip_by_value", "limit": 1.0}]
    assert settings.train.jit_compile is True
    assert settings.train.class_weights == {3: 2.0}


@pytest.mark.parametrize("text", ["1e-3", "1E-3", "0.001", "+1e-03"])
def test_numbers_may_be_written_in_any_usual_way(text):
    optimizer = load(overrides=[f"optimizer.learning_rate={text}"], environment={}).optimizer
    assert optimizer.arguments == {"learning_rate": 0.001}


def test_printed_settings_load_to_the_same(tmp_path):
    settings = load("smoke", ["optimizer.name=sgd", "optimizer.momentum=0.5"], {})
    file = tmp_path / "settings.yaml"
    file.write_text(settings.as_yaml())
    assert load(str(file), environment={}) == settings
    assert settings.optimizer.arguments == {"momentum": 0.5}


@pytest.mark.parametrize("text", ["1e-3", "-2E5", "0.5", "null", "true"])
def test_printed_text_that_looks_like_something_else_stays_text(text, tmp_path):
    settings = Settings(data={"source": text})
    file = tmp_path / "settings.yaml"
    file.write_text(settings.as_yaml())
    assert load(str(file), environment={}).data.source == text


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.epoch=3", "train.epoch is not a setting; did you mean train.epochs?"),
        ("trian.epochs=3", "trian is not a setting; did you mean train?"),
        ("epochs=3", "epochs is not a setting; did you mean train.epochs?"),
        ("train.epochs=0", "train.epochs: Input should be greater than 0, got 0"),
        ("train.model=cn", "train.model: Input should be 'cnn'"),
        ("train.epochs.x=3", "train.epochs: Input should be a valid integer"),
        ("name=Big", "name: String should match pattern"),
        ("name=a-", "must not end with '-'"),
        ("kubeflow.tpu=v5e:4x4", "kubeflow.tpu: 'v5e:4x4' has 16 chips"),
        ("train.seed", "--set takes section.key=value, got 'train.seed'"),
        ("train.seed={", "is not valid YAML"),
        ("name=2026-02-30", "not valid YAML: day is out of range for month"),
        ("train.epochs=0b_", "is not valid YAML"),
        ("data.source=[mine]", "data.source: Input should be a valid string, got ['mine']"),
        ("data.set={mine: 1}", "data.set: Input should be a valid string, got {'mine': 1}"),
        ("kubeflow.resources.Trainer.cpus=1", "did you mean kubeflow.resources.Trainer.cpu?"),
        ("kubeflow.resources.cpu.cpus=1", "did you mean kubeflow.resources.cpu.cpu?"),
    ],
)
def test_wrong_settings_say_what_is_right(override, message):
    with pytest.raises(ConfigError) as error:
        load(overrides=[override], environment={})
    assert message in str(error.value)


def test_a_misspelt_environment_variable_is_an_error():
    with pytest.raises(ConfigError, match=r"did you mean train\.epochs"):
        load(environment={"MNIST_TFX_TRAIN__EPOCH": "1"})


@pytest.mark.parametrize("text", ["[1]", "a: [", "text", "a: 2026-02-30"])
def test_a_file_that_holds_no_settings_is_an_error(tmp_path, text):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load(str(file), environment={})


def test_a_missing_file_lists_the_bundled_ones(tmp_path):
    with pytest.raises(ConfigError, match="local, smoke"):
        load(str(tmp_path / "none.yaml"), environment={})


def test_local_folders_become_absolute_and_urls_stay(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    settings = load(overrides=["root=here", "push.destination=gs://bucket/x"], environment={})
    assert settings.root == str(tmp_path / "here")
    assert settings.push.destination == "gs://bucket/x"


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Settings().name = "other"


def test_every_setting_is_documented():
    sections = (TrainSettings, CheckpointSettings, config.DataSettings, DataLimits)
    sections = (*sections, config.EvaluateSettings)
    for section in (Settings, *sections):
        for name, field in section.model_fields.items():
            nested = section is Settings and name not in ("name", "root", "cache")
            assert nested or field.description, f"{section.__name__}.{name}"


@pytest.mark.parametrize(
    "override",
    [
        "data.source=https://me:sesame@host/data",
        "data.source=https://host/data?signature=sesame",
        "push.destination=s3://me:sesame@bucket/models",
        "root=https://me:sesame@host/",
        "kubeflow.host=https://me:sesame@host/pipeline",
        "beam.args=[--runner=FlinkRunner, --flink_master=http://me:sesame@host]",
        "train.model_arguments={weights: http://me:sesame@host}",
        "data.source=[https://me:sesame@host",
        "data.eval_examples=https://me:sesame@host",
        "https://me:sesame@host",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_shown(override):
    with pytest.raises(ConfigError, match=r"\*\*\*") as caught:
        load(overrides=[override], environment={})
    assert "sesame" not in str(caught.value)


def test_a_refused_secret_is_named():
    with pytest.raises(ConfigError, match="^data.source must not hold a user name, a password"):
        load(environment={"MNIST_TFX_DATA__SOURCE": "https://me:sesame@host/data"})


@pytest.mark.parametrize("name", ["a*", "a?", "[a]", "a\\b"])
def test_a_root_is_not_taken_for_a_pattern(name):
    with pytest.raises(ConfigError, match="root: TFX finds files in it by patterns"):
        load(None, [f"root='/tmp/{name}'"], {})


def test_a_root_may_have_an_odd_name():
    root = '/tmp/a b#%2F ü 日本 "q" {x} a:b,c'
    assert load(None, [f"root='{root}'"], {}).root == root
