"""Checks of the Trainer's settings that need TensorFlow, before a run starts."""

from components.trainer import gradients, loop, models, optimizers
from components.trainer import strategy as strategies
from components.trainer.settings import OptimizerSettings, TrainSettings

# Arguments of all models that come from elsewhere.
_ORIGINS = {"num_classes": "the data set", "seed": "train.seed"}


def validate(train: TrainSettings, optimizer: OptimizerSettings, num_classes: int) -> None:
    """Tries what the Trainer will create, so that a wrong name or argument fails at once.

    It also prepares the devices, which TensorFlow allows only before its first operation.

    Args:
      train: Settings of the Trainer.
      optimizer: Settings of its optimizer.
      num_classes: Number of classes of the data set.

    Raises:
      ValueError: A setting is wrong; the message says which and what is allowed.
    """
    for argument, origin in _ORIGINS.items():
        if argument in train.model_arguments:
            raise ValueError(f"train.model_arguments must not have {argument}: {origin} gives it")
    strategies.prepare_devices(train.strategy)
    models.create(train.model, num_classes=num_classes, seed=train.seed, **train.model_arguments)
    optimizers.create(optimizer.name, **optimizer.arguments)
    gradients.create(train.gradients)
    loop.weight_table(train.class_weights, num_classes)
