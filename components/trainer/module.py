"""The Trainer's entry point: wires the parts of this package together."""

import logging

import keras
from tfx.components.trainer.fn_args_utils import FnArgs

from components.trainer import (
    actions,
    controller,
    gradients,
    inputs,
    models,
    optimizers,
    signatures,
)
from components.trainer import strategy as strategies
from components.trainer.loop import TrainingLoop
from components.trainer.settings import OptimizerSettings, TrainSettings

log = logging.getLogger(__name__)


def run_fn(fn_args: FnArgs) -> None:
    """Trains on the train split, keeps the epoch that is best on the eval split, exports it.

    Args:
      fn_args: `custom_config` holds `train` (TrainSettings) and `optimizer` (OptimizerSettings).

    Raises:
      actions.NonFiniteLossError: The loss was not finite; nothing was exported.
    """
    settings = TrainSettings.model_validate(fn_args.custom_config["train"])
    optimizer_settings = OptimizerSettings.model_validate(fn_args.custom_config["optimizer"])
    keras.utils.set_random_seed(settings.seed)
    strategy = strategies.create(settings.strategy)
    with strategy.scope():
        model = models.create(settings.model, seed=settings.seed, **settings.model_arguments)
        optimizer = optimizers.create(optimizer_settings.name, **optimizer_settings.arguments)
    loop = TrainingLoop(
        model,
        optimizer,
        strategy=strategy,
        processors=gradients.create(settings.gradients),
        steps_per_call=settings.steps_per_call,
        jit_compile=settings.jit_compile,
        class_weights=settings.class_weights,
    )
    best = controller.fit(
        loop,
        iter(_batches(strategy, fn_args.train_files, settings, training=True)),
        _batches(strategy, fn_args.eval_files, settings, training=False),
        epochs=settings.epochs,
        steps_per_epoch=-(-inputs.count(fn_args.train_files) // settings.batch_size),
        patience=settings.patience,
        actions=[
            actions.require_finite,
            actions.log_progress,
            actions.TensorBoard(fn_args.model_run_dir),
            actions.History(f"{fn_args.model_run_dir}/history.jsonl"),
        ],
    )
    signatures.export(model, fn_args.serving_model_dir)
    log.info("exported epoch %d: eval accuracy %.2f%%", best.number, 100 * best.eval["accuracy"])


def _batches(strategy, files: list[str], settings: TrainSettings, *, training: bool):
    batches = inputs.dataset(
        files, batch_size=settings.batch_size, training=training, seed=settings.seed
    )
    return inputs.distribute(strategy, batches, settings.batch_size)
