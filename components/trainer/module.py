"""The Trainer's entry point: wires the parts of this package together."""

import logging
import platform
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf
from tfx.components.trainer.fn_args_utils import FnArgs

from components import training_record
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

log = logging.getLogger(__name__)


def run_fn(fn_args: FnArgs) -> None:
    """Trains on the train split, keeps the epoch that is best on the eval split, exports it.

    Args:
      fn_args: `custom_config` holds `train` (TrainSettings) and `optimizer` (OptimizerSettings);
        `base_model`, where given, is the folder of the SavedModel to start from.

    Raises:
      actions.NonFiniteLossError: The loss was not finite; nothing was exported.
    """
    settings = TrainSettings.model_validate(fn_args.custom_config["train"])
    optimizer_settings = OptimizerSettings.model_validate(fn_args.custom_config["optimizer"])
    keras.utils.set_random_seed(settings.seed)
    strategy = strategies.create(settings.strategy)
    with strategy.scope():
        model = models.create(
            settings.model, seed=settings.seed, **_model_arguments(settings, strategy)
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
    examples = {
        "train": inputs.count(fn_args.train_files),
        "eval": inputs.count(fn_args.eval_files),
    }
    run_folder = _own(strategy, fn_args.model_run_dir)
    best = controller.fit(
        loop,
        iter(_batches(strategy, fn_args.train_files, settings, training=True)),
        _batches(strategy, fn_args.eval_files, settings, training=False),
        calibration=_batches(strategy, fn_args.train_files, settings, training=False),
        epochs=settings.epochs,
        steps_per_epoch=-(-examples["train"] // settings.batch_size),
        patience=settings.patience,
        actions=[
            actions.require_finite,
            actions.log_progress,
            actions.TensorBoard(run_folder),
            actions.History(f"{run_folder}/history.jsonl"),
        ],
    )
    folder = _own(strategy, fn_args.serving_model_dir)
    signatures.export(model, folder)
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


def _batches(
    strategy: tf.distribute.Strategy, files: list[str], settings: TrainSettings, *, training: bool
) -> tf.distribute.DistributedDataset:
    batches = inputs.dataset(
        files, batch_size=settings.batch_size, training=training, seed=settings.seed
    )
    return inputs.distribute(strategy, batches, settings.batch_size)
