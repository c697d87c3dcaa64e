import pytest

from components.trainer import validation
from components.trainer.settings import OptimizerSettings, TrainSettings
from pipeline import config


def validate(**train) -> None:
    validation.validate(TrainSettings(**train), OptimizerSettings(), num_classes=26)


def test_the_defaults_are_right():
    validate()


@pytest.mark.parametrize("name", ["fast", "best"])
def test_the_bundled_recipes_are_right(name):
    settings = config.load(name, environment={})
    validation.validate(settings.train, settings.optimizer, num_classes=10)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"model_arguments": {"drop": 1}}, "model cnn has no argument 'drop'"),
        ({"model_arguments": {"num_classes": 5}}, "must not have num_classes: the data set gives"),
        ({"model_arguments": {"seed": 5}}, "must not have seed: train.seed gives it"),
        ({"gradients": [{"name": "clip"}]}, "clip"),
        (
            {"class_weights": {26: 2.0}},
            "classes 0 to 25 a finite weight >= 0, got 2.0 for class 26",
        ),
        ({"class_weights": {3: -1.0}}, "got -1.0 for class 3"),
    ],
)
def test_a_wrong_setting_fails_at_once(train, message):
    with pytest.raises(ValueError, match=message):
        validate(**train)
