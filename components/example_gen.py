"""From IDX files to gzipped TFRecords of tf.Example, in the splits train, eval and test.

Beam-based, so that many workers can write. Unlike TFX's file-based ExampleGen it has no driver
hook, as Kubeflow Pipelines runs none; the fingerprint of the content takes its place in the cache
key.
"""

import itertools
import json
import os
import uuid
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import numpy as np
import tensorflow as tf
from absl import logging
from tfx import types
from tfx.components.util import examples_utils
from tfx.dsl.components.base import base_beam_component, base_beam_executor, executor_spec
from tfx.dsl.io import fileio
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils, standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

from components import data_findings, data_quality, example_shards, mnist_files, splits
from components.example_shards import Work
from components.idx import Storage
from components.mnist_files import DataSet
from schemas import mnist

# Much faster than zlib's default level, for a few per cent more bytes.
_COMPRESSION = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=2)


class Executor(base_beam_executor.BaseBeamExecutor):
    """Checks the input as a whole, then writes the shards."""

    def Do(
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Writes `data_tfrecord-<shard>-of-<shards>.gz` per split; the same bytes each time.

        Beside the splits it leaves `data_quality.json`: what is in the files that no format forbids
        and that spoils results all the same.

        An example has `image`, one value of 784 bytes row by row, and `label`, one int64 from 0.

        Args:
          input_dict: Empty.
          output_dict: `examples`, one Examples artifact; its custom property `counts` gets the
            number of examples by split, as JSON.
          exec_properties: As `MnistExampleGen` takes them.

        Raises:
          IdxError: A file is not what it must be; nothing is written then.
          ValueError: A number of examples is out of range.
          RuntimeError: The content is not the one that the pipeline was made for.
        """
        self._log_startup(input_dict, output_dict, exec_properties)
        first_label = exec_properties["first_label"]
        labels = range(first_label, first_label + exec_properties["num_classes"])
        data = mnist_files.check(exec_properties["input_base"], labels, storage())
        _check_fingerprint(data, exec_properties)
        chosen = splits.choose(
            data.train_examples,
            data.test_examples,
            eval_examples=exec_properties["eval_examples"],
            train_limit=exec_properties["train_limit"],
            test_limit=exec_properties["test_limit"],
        )
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        examples.split_names = artifact_utils.encode_split_names(list(mnist.SPLITS))
        examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
        examples_utils.set_file_format(examples, "tfrecords_gzip")
        counts = {split: len(getattr(chosen, split)) for split in mnist.SPLITS}
        examples.set_string_custom_property("counts", json.dumps(counts))

        findings = data_quality.measure(data.files, storage())
        _write(os.path.join(examples.uri, data_findings.FILE), data_findings.as_json(findings))
        work = _plan(data, chosen, examples, first_label, bool(exec_properties["transposed"]))
        with self._make_beam_pipeline() as pipeline:
            _ = pipeline | "Work" >> beam.Create(work) | "Write" >> beam.Map(write_shards)
        shards = sum(len(each.shards) for each in work)
        logging.info("wrote %d shards of examples to %s", shards, examples.uri)


class Spec(ComponentSpec):
    """What MnistExampleGen takes and gives."""

    PARAMETERS = {  # noqa: RUF012
        "input_base": ExecutionParameter(type=str),
        "fingerprint": ExecutionParameter(type=str),
        "num_classes": ExecutionParameter(type=int),
        "first_label": ExecutionParameter(type=int),
        "transposed": ExecutionParameter(type=int),
        "eval_examples": ExecutionParameter(type=int),
        "train_limit": ExecutionParameter(type=int),
        "test_limit": ExecutionParameter(type=int),
        "code": ExecutionParameter(type=str),
    }
    INPUTS = {}  # noqa: RUF012
    OUTPUTS = {"examples": ChannelParameter(type=standard_artifacts.Examples)}  # noqa: RUF012


class MnistExampleGen(base_beam_component.BaseBeamComponent):
    """Reads IDX files in MNIST's format and writes the splits train, eval and test.

    The test split is the test files; the train files give train and eval. Output key: `examples`.
    """

    SPEC_CLASS = Spec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

    def __init__(
        self,
        *,
        input_base: str,
        fingerprint: str,
        num_classes: int,
        first_label: int = 0,
        transposed: bool = False,
        eval_examples: int,
        train_limit: int = 0,
        test_limit: int = 0,
        code: str = "",
    ):
        """Makes the component.

        Args:
          input_base: Folder of the IDX files, whole or in shards, local or `gs://...`.
          fingerprint: `mnist_files.check(...).fingerprint` when the pipeline is made, so that the
            output is served from the cache exactly as long as the content stays the same. Empty
            where it cannot be known then; such a platform must not cache this node.
          num_classes: Number of classes.
          first_label: Label of the first class in the files; it becomes 0.
          transposed: Whether the files hold each image column by column.
          eval_examples: Examples of the train files that go to the eval split.
          train_limit: At most this many of the others go to the train split; 0 is all.
          test_limit: At most this many of the test files go to the test split; 0 is all.
          code: Fingerprint of the code, for the cache key alone.
        """
        super().__init__(
            Spec(
                input_base=input_base,
                fingerprint=fingerprint,
                num_classes=num_classes,
                first_label=first_label,
                transposed=int(transposed),
                eval_examples=eval_examples,
                train_limit=train_limit,
                test_limit=test_limit,
                code=code,
                examples=types.Channel(type=standard_artifacts.Examples),
            )
        )


def storage() -> Storage:
    """Files wherever TFX can read them: local, `gs://...`."""
    return Storage(_open, fileio.listdir, (OSError, tf.errors.OpError))


def write_shards(work: Work) -> None:
    """Writes shards, reading each source once and holding about 2 MiB of it."""
    examples = itertools.chain.from_iterable(
        mnist_files.read_examples(source.pair, source.rows, storage()) for source in work.sources
    )
    for shard in work.shards:
        records = (
            _serialize(image.T if work.transposed else image, label - work.first_label)
            for image, label in itertools.islice(examples, shard.examples)
        )
        _write_records(shard.path, records)


def _write_records(path: str, records: Iterable[bytes]) -> None:
    """Writes a TFRecord, under a temporary name first: a worker may die, or have a twin."""
    fileio.makedirs(os.path.dirname(path))
    temporary = f"{path}.{uuid.uuid4().hex}.unfinished"
    with tf.io.TFRecordWriter(temporary, _COMPRESSION) as writer:
        for record in records:
            writer.write(record)
    fileio.rename(temporary, path, overwrite=True)


def _write(path: str, values: dict) -> None:
    fileio.makedirs(os.path.dirname(path))
    with fileio.open(path, "w") as file:
        file.write(json.dumps(values, indent=2))


def _check_fingerprint(data: DataSet, exec_properties: dict[str, Any]) -> None:
    expected = exec_properties["fingerprint"]
    if expected not in ("", data.fingerprint):
        raise RuntimeError(
            f"{exec_properties['input_base']} has changed since the pipeline was made: its content "
            f"has the fingerprint {data.fingerprint}, {expected} is expected; run or compile again"
        )


def _plan(
    data: DataSet,
    chosen: splits.Splits,
    examples: types.Artifact,
    first_label: int,
    transposed: bool,
) -> list[Work]:
    train, test = (data.files.train, data.train_sizes), (data.files.test, data.test_sizes)
    work = []
    for split, (pairs, sizes) in zip(mnist.SPLITS, (train, train, test), strict=True):
        work += example_shards.plan(
            pairs,
            sizes,
            getattr(chosen, split),
            artifact_utils.get_split_uri([examples], split),
            first_label=first_label,
            transposed=transposed,
        )
    return work


def _serialize(image: np.ndarray, label: int) -> bytes:
    example = tf.train.Example()
    features = example.features.feature
    features[mnist.IMAGE].bytes_list.value.append(image.tobytes())
    features[mnist.LABEL].int64_list.value.append(label)
    return example.SerializeToString(deterministic=True)


def _open(path: str) -> Any:
    return fileio.open(path, "rb")
