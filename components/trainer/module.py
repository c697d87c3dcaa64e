"""The Trainer's entry point: wires the parts of this package together."""

import logging
import platform
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf
from tfx.components.trainer.fn_args_utils import FnArgs

from components import labels, training_record
from components.trainer import (
    actions,
    controller,
    gradients,
    inputs,
    mixed_precision,
    models,
    optimizers,
    signatures,
    warm_start,
)
from components.trainer import strategy as strategies
from components.trainer.loop import TrainingLoop
from components.trainer.settings import OptimizerSettings, TrainSettings
from schemas import mnist

log = logging.getLogger(__name__)


def run_fn(fn_args: FnArgs) -> None:
    """Trains, keeps the epoch with the lowest loss on the eval split, and exports it.

    Args:
      fn_args: `custom_config` holds `train` (TrainSettings), `optimizer` (OptimizerSettings) and
        `label_names` (names of the classes, in the order of their labels);
        `base_model`, where given, is the folder of the SavedModel to start from.

    Raises:
      actions.NonFiniteLossError: The loss was not finite; nothing was exported.
    """
    settings = TrainSettings.model_validate(fn_args.custom_config["train"])
    optimizer_settings = OptimizerSettings.model_validate(fn_args.custom_config["optimizer"])
    label_names = fn_args.custom_config["label_names"]
    keras.utils.set_random_seed(settings.seed)
    strategy = strategies.create(settings.strategy)
    with strategy.scope():
        model = models.create(
            settings.model,
            num_classes=len(label_names),
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
    train, held_out = inputs.load(fn_args.train_files), inputs.load(fn_args.eval_files)
    size = settings.batch_size

    def distribute(batches: tf.data.Dataset) -> tf.distribute.DistributedDataset:
        return inputs.distribute(strategy, batches, size)

    run_folder = _own(strategy, fn_args.model_run_dir)
    best = controller.fit(
        loop,
        iter(distribute(inputs.training(train, size, seed=settings.seed))),
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
    )
    folder = _own(strategy, fn_args.serving_model_dir)
    signatures.export(model, folder)
    labels.write(folder, label_names)
    examples = {"train": len(train[mnist.LABEL]), "eval": len(held_out[mnist.LABEL])}
    training_record.write(folder, _record(fn_args, examples, model, best, warm))
    log.info("exported epoch %d: eval accuracy %.2f%%", best.number, 100 * best.eval["accuracy"])


def _record(
    fn_args: FnArgs,
    examples: dict[str, int],
    model: keras.Model,
    best: actions.Epoch,
    warm: warm_start.WarmStart | None,
) -> training_record.TrainingRecord:
    return training_record.TrainingRecord(
        data=training_record.of_examples([*fn_args.train_files, *fn_args.eval_files]),
        code=training_record.of_config(fn_args.custom_config),
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


def _own(strategy: tf.distribute.Strategy, folder: str) -> str:
    """The folder on the first worker, one to throw away on others: all must save, one is kept."""
    resolver = strategy.cluster_resolver
    first = resolver is None or resolver.task_id in (None, 0)
    return folder if first else tempfile.mkdtemp()
