"""The Trainer's entry point: wires the parts of this package together."""

import logging
import os
import platform
import time

import keras
import numpy as np
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
    loop, warm = _create_loop(fn_args, settings, strategy)
    train, held_out = (
        inputs.load(files, memory_bytes=settings.cache_megabytes << 20)
        for files in (fn_args.train_files, fn_args.eval_files)
    )
    digests = {
        "data": training_record.of_examples([*fn_args.train_files, *fn_args.eval_files]),
        "code": training_record.of_config(config),
    }
    with interruption.held_back() as interrupted:
        saved = Checkpoints(
            _checkpoint_folder(fn_args, strategy, digests),
            strategy=strategy,
            settings=CheckpointSettings.model_validate(config["checkpoints"]),
            interrupted=interrupted,
        )
        best = _fit(fn_args, settings, loop, train, held_out, saved)
    folder = strategies.own_folder(strategy, fn_args.serving_model_dir)
    signatures.export(loop.model, folder)
    labels.write(folder, config["label_names"])
    examples = {"train": len(train[mnist.LABEL]), "eval": len(held_out[mnist.LABEL])}
    record = _record(fn_args, digests, examples, loop.model, best, warm)
    training_record.write(folder, record)
    saved.clear()
    log.info("exported epoch %d: eval accuracy %.2f%%", best.number, 100 * best.eval["accuracy"])


def _create_loop(
    fn_args: FnArgs, settings: TrainSettings, strategy: tf.distribute.Strategy
) -> tuple[TrainingLoop, warm_start.WarmStart | None]:
    optimizer_settings = OptimizerSettings.model_validate(fn_args.custom_config["optimizer"])
    with strategy.scope():
        model = models.create(
            settings.model,
            num_classes=len(fn_args.custom_config["label_names"]),
            seed=settings.seed,
            **_model_arguments(settings, strategy),
        )
        warm = warm_start.load(model, fn_args.base_model) if fn_args.base_model else None
        if warm:
            log.info("%s", warm)
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
    return loop, warm


def _fit(
    fn_args: FnArgs,
    settings: TrainSettings,
    loop: TrainingLoop,
    train: inputs.Examples,
    held_out: inputs.Examples,
    saved: Checkpoints,
) -> actions.Epoch:
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
                actions.History(f"{run_folder}/{actions.HISTORY}"),
            ],
            checkpoints=saved,
        )
    except actions.NonFiniteLossError:
        saved.clear()  # Whoever went on from there would end in the same way.
        raise


def _record(
    fn_args: FnArgs,
    digests: dict[str, str],
    examples: dict[str, int],
    model: keras.Model,
    best: actions.Epoch,
    warm: warm_start.WarmStart | None,
) -> training_record.TrainingRecord:
    return training_record.TrainingRecord(
        **digests,
        trained_at=time.time(),
        details=training_record.TrainingDetails(
            source=fn_args.custom_config["code"],
            train=fn_args.custom_config["train"],
            optimizer=fn_args.custom_config["optimizer"],
            examples=examples,
            weights=model.count_params(),
            epoch=best.number,
            eval_accuracy=best.eval["accuracy"],
            warm_start=str(warm) if warm else None,
            software=_software(),
        ),
    )


def _software() -> dict[str, str]:
    """Of the modules: the distribution of TensorFlow has another name where there is a TPU."""
    return {
        "Python": platform.python_version(),
        "TensorFlow": tf.__version__,
        "Keras": keras.__version__,
        "NumPy": np.__version__,
    }


def _model_arguments(settings: TrainSettings, strategy: tf.distribute.Strategy) -> dict:
    if not settings.mixed_precision:
        return settings.model_arguments
    return {"dtype": mixed_precision.policy(strategy), **settings.model_arguments}


def _checkpoint_folder(
    fn_args: FnArgs, strategy: tf.distribute.Strategy, digests: dict[str, str]
) -> str:
    """A folder that only the same training finds: same data, code, settings, start, replicas."""
    name = checkpoints.key(
        **digests,
        base_model=versions.digest(fn_args.base_model) if fn_args.base_model else "",
        replicas=strategy.num_replicas_in_sync,
    )
    return os.path.join(fn_args.custom_config["checkpoint_folder"], name)
