"""Checks of the Trainer's settings that need TensorFlow, before a run starts."""

from components.trainer import gradients, models, optimizers
from components.trainer import strategy as strategies
from components.trainer.settings import OptimizerSettings, TrainSettings


def validate(train: TrainSettings, optimizer: OptimizerSettings) -> None:
    """Tries what the Trainer will create, so that a wrong name or argument fails at once.

    It also prepares the devices, which TensorFlow allows only before its first operation.

    Raises:
      ValueError: A setting is wrong; the message says which and what is allowed.
    """
    strategies.prepare_devices(train.strategy)
    models.create(train.model, seed=train.seed, **train.model_arguments)
    optimizers.create(optimizer.name, **optimizer.arguments)
    gradients.create(train.gradients)
