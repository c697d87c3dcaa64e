"""The Trainer's entry point: wires the parts of this package together."""

import logging
import os
import time

import keras
import tensorflow as tf
from tfx.components.trainer.fn_args_utils import FnArgs

from components import labels, training_record, versions
from components.trainer import (
    actions,
    checkpoints,
    controller,
    gradients,
    inputs,
    interruption,
    mixed_precision,
    models,
    optimizers,
    signatures,
    warm_start,
)
from components.trainer import strategy as strategies
from components.trainer.checkpoints import Checkpoints
from components.trainer.loop import TrainingLoop
from components.trainer.settings import CheckpointSettings, OptimizerSettings, TrainSettings
from schemas import mnist

log = logging.getLogger(__name__)


def run_fn(fn_args: FnArgs) -> None:
    """Trains, keeps the epoch with the lowest loss on the eval split, and exports it.

    Killed at any moment and called again, it goes on from its last checkpoint to the same model.

    Args:
      fn_args: `custom_config` holds `train` (TrainSettings), `optimizer` (OptimizerSettings),
        `label_names` (names of the classes, in the order of their labels), `checkpoints`
        (CheckpointSettings), `checkpoint_folder` (one that a next run will find) and `code` (a
        digest); `base_model`, where given, is the folder of the SavedModel to start from.

    Raises:
      actions.NonFiniteLossError: The loss was not finite; nothing was exported.
      checkpoints.Interrupted: The process of another worker is to end.
    """
    config = fn_args.custom_config
    settings = TrainSettings.model_validate(config["train"])
    keras.utils.set_random_seed(settings.seed)
    strategy = strategies.create(settings.strategy)
    loop = _create_loop(fn_args, settings, strategy)
    data = training_record.of_examples([*fn_args.train_files, *fn_args.eval_files])
    code = training_record.of_config(config)
    with interruption.held_back() as interrupted:
        saved = Checkpoints(
            _checkpoint_folder(fn_args, strategy, data=data, code=code),
            strategy=strategy,
            settings=CheckpointSettings.model_validate(config["checkpoints"]),
            interrupted=interrupted,
        )
        best = _fit(fn_args, settings, loop, saved)
    folder = strategies.own_folder(strategy, fn_args.serving_model_dir)
    signatures.export(loop.model, folder)
    labels.write(folder, config["label_names"])
    record = training_record.TrainingRecord(data=data, code=code, trained_at=time.time())
    training_record.write(folder, record)
    saved.clear()
    log.info("exported epoch %d: eval accuracy %.2f%%", best.number, 100 * best.eval["accuracy"])


def _create_loop(
    fn_args: FnArgs, settings: TrainSettings, strategy: tf.distribute.Strategy
) -> TrainingLoop:
    optimizer_settings = OptimizerSettings.model_validate(fn_args.custom_config["optimizer"])
    with strategy.scope():
        model = models.create(
            settings.model,
            num_classes=len(fn_args.custom_config["label_names"]),
            seed=settings.seed,
            **_model_arguments(settings, strategy),
        )
        if fn_args.base_model:
            log.info("%s", warm_start.load(model, fn_args.base_model))
        optimizer = optimizers.create(optimizer_settings.name, **optimizer_settings.arguments)
    return TrainingLoop(
        model,
        optimizer,
        strategy=strategy,
        processors=gradients.create(settings.gradients),
        steps_per_call=settings.steps_per_call,
        jit_compile=settings.jit_compile,
        class_weights=settings.class_weights,
    )


def _fit(
    fn_args: FnArgs, settings: TrainSettings, loop: TrainingLoop, saved: Checkpoints
) -> actions.Epoch:
    train, held_out = inputs.load(fn_args.train_files), inputs.load(fn_args.eval_files)
    size = settings.batch_size

    def distribute(batches: tf.data.Dataset) -> tf.distribute.DistributedDataset:
        return inputs.distribute(loop.strategy, batches, size)

    run_folder = strategies.own_folder(loop.strategy, fn_args.model_run_dir)
    try:
        return controller.fit(
            loop,
            lambda step: iter(
                distribute(inputs.training(train, size, seed=settings.seed, start=step))
            ),
            distribute(inputs.one_pass(held_out, size)),
            calibration=distribute(inputs.one_pass(train, size)),
            epochs=settings.epochs,
            steps_per_epoch=-(-len(train[mnist.LABEL]) // size),
            patience=settings.patience,
            actions=[
                actions.require_finite,
                actions.log_progress,
                actions.TensorBoard(run_folder),
                actions.History(f"{run_folder}/history.jsonl"),
            ],
            checkpoints=saved,
        )
    except actions.NonFiniteLossError:
        saved.clear()  # Whoever went on from there would end in the same way.
        raise


def _model_arguments(settings: TrainSettings, strategy: tf.distribute.Strategy) -> dict:
    if not settings.mixed_precision:
        return settings.model_arguments
    return {"dtype": mixed_precision.policy(strategy), **settings.model_arguments}


def _checkpoint_folder(
    fn_args: FnArgs, strategy: tf.distribute.Strategy, *, data: str, code: str
) -> str:
    """A folder that only the same training finds: same data, code, settings, start, replicas."""
    name = checkpoints.key(
        data=data,
        code=code,
        base_model=versions.digest(fn_args.base_model) if fn_args.base_model else "",
        replicas=strategy.num_replicas_in_sync,
    )
    return os.path.join(fn_args.custom_config["checkpoint_folder"], name)
