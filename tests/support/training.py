"""The Trainer on a few examples: in this process, or in one of its own that a test can kill."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tfx.components.trainer.fn_args_utils import FnArgs

from components import model_identity
from components.trainer import module

TRAIN, EVAL, BATCH = 232, 40, 16  # The last batch of an epoch is not full.
STEPS_PER_EPOCH = 15


def write_examples(folder: Path) -> None:
    """The two splits: noise around a bright row that tells the class, so that there is progress."""
    random = np.random.default_rng(0)
    for split, count in (("train", TRAIN), ("eval", EVAL)):
        (folder / split).mkdir(parents=True)
        with tf.io.TFRecordWriter(str(folder / split / "data.gz"), "GZIP") as writer:
            for label in random.integers(0, 10, count):
                image = random.integers(0, 200, [28, 28], np.uint8)
                image[2 * label : 2 * label + 4] += 55
                writer.write(_example(image.tobytes(), int(label)))


def config(folder: Path, **changes: dict[str, Any]) -> dict[str, Any]:
    """The Trainer's custom_config: some seconds of the default model, a checkpoint at each call."""
    train = {"epochs": 3, "batch_size": BATCH, "steps_per_call": 4, **changes.get("train", {})}
    return {
        "train": train,
        "optimizer": changes.get("optimizer", {"name": "schedule_free_adamw"}),
        "checkpoints": {"minutes": 0, "steps": 1, **changes.get("checkpoints", {})},
        "checkpoint_folder": str(folder / "checkpoints"),
        "label_names": [str(digit) for digit in range(10)],
        "code": "c",
    }


def run(
    folder: Path, custom_config: dict[str, Any], name: str = "run", base_model: str | None = None
) -> Path:
    """Trains on the examples in a folder; returns the folder of the SavedModel."""
    model = folder / name / "model"
    module.run_fn(
        FnArgs(
            train_files=[str(folder / "train" / "*")],
            eval_files=[str(folder / "eval" / "*")],
            serving_model_dir=str(model),
            model_run_dir=str(folder / name / "model_run"),
            custom_config=custom_config,
            base_model=base_model,
        )
    )
    return model


def history(folder: Path, name: str) -> list[dict[str, Any]]:
    """What a run wrote of its epochs, the time they took left out."""
    lines = (folder / name / "model_run" / "history.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def same(one: Path, two: Path) -> bool:
    """Whether two SavedModels are equal, bit for bit."""
    return model_identity.same(str(one), str(two))


def _example(image: bytes, label: int) -> bytes:
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


if __name__ == "__main__":
    run(Path(sys.argv[1]), json.loads(sys.argv[2]))
