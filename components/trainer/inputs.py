"""From gzipped TFRecords of tf.Example to batches, the same way for training and serving.

A batch is a dictionary of `image` uint8 [batch, 28, 28], `label` int64 [batch] and, once padded,
`weight` float32 [batch]: 1 for an example, 0 for padding.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from components.trainer.image_file import ImageFile
from schemas import mnist

WEIGHT = "weight"

# All of a split; see `load`.
Examples = Mapping[str, np.ndarray | ImageFile]

# Examples parsed by one call: parsing a batch costs a sixth of parsing one by one.
_PARSE_BATCH = 512

# Batches that are ready before they are asked for.
_AHEAD = 8


def decode(serialized: tf.Tensor) -> dict[str, tf.Tensor]:
    """Parses a batch of serialized tf.Examples.

    Args:
      serialized: String [batch].

    Returns:
      `image` uint8 [batch, 28, 28] and `label` int64 [batch] (-1 where an example has no label, as
      at serving).

    Raises:
      tf.errors.InvalidArgumentError: An image is not 784 bytes long.
    """
    features = tf.io.parse_example(
        serialized,
        {
            mnist.IMAGE: tf.io.FixedLenFeature([], tf.string),
            mnist.LABEL: tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        },
    )
    size = mnist.HEIGHT * mnist.WIDTH
    check = tf.debugging.assert_equal(
        tf.strings.length(features[mnist.IMAGE]),
        size,
        message=f"the feature '{mnist.IMAGE}' must hold {size} bytes, row by row",
    )
    pixels = tf.io.decode_raw(features[mnist.IMAGE], tf.uint8)
    # Reshape takes its shape as an input, which waits for the check.
    with tf.control_dependencies([check]):
        shape = tf.identity([-1, mnist.HEIGHT, mnist.WIDTH])
    return {
        mnist.IMAGE: tf.ensure_shape(tf.reshape(pixels, shape), [None, mnist.HEIGHT, mnist.WIDTH]),
        mnist.LABEL: features[mnist.LABEL],
    }


def load(files: str | Sequence[str], memory_bytes: int | None = None) -> Examples:
    """Decodes all examples, once for every pass over them.

    Args:
      files: File pattern or patterns of gzipped TFRecords.
      memory_bytes: Most that the images may take in memory: more of them go to a file on the local
        disk. None is no limit.

    Returns:
      `image` uint8 [examples, 28, 28], as an array or as an `ImageFile`, and `label` int64
      [examples], in file order.

    Raises:
      FileNotFoundError: No file matches.
      OSError: The local disk is full.
    """
    paths = sorted(tf.io.gfile.glob(files))
    if not paths:
        raise FileNotFoundError(f"no TFRecord file matches {files!r}")
    records = tf.data.TFRecordDataset(paths, compression_type="GZIP").batch(_PARSE_BATCH)
    parsed = records.map(decode, num_parallel_calls=tf.data.AUTOTUNE).with_options(untuned())
    nothing = {name: tensor.numpy() for name, tensor in decode(tf.constant([], tf.string)).items()}
    images, labels, on_disk = [nothing[mnist.IMAGE]], [nothing[mnist.LABEL]], None
    held = 0
    for batch in parsed.as_numpy_iterator():
        labels.append(batch[mnist.LABEL])
        images.append(batch[mnist.IMAGE])
        held += batch[mnist.IMAGE].nbytes
        if memory_bytes is not None and held > memory_bytes:
            on_disk = on_disk or ImageFile()
            for part in images:
                on_disk.append(part)
            images = []
    return {
        mnist.IMAGE: np.concatenate(images) if on_disk is None else on_disk,
        mnist.LABEL: np.concatenate(labels),
    }


def take(values: np.ndarray | ImageFile, rows: np.ndarray) -> np.ndarray:
    """What is at `rows` of images or labels, in memory or in a file."""
    return values.take(rows) if isinstance(values, ImageFile) else values[rows]


def training(examples: Examples, batch_size: int, *, seed: int, start: int = 0) -> tf.data.Dataset:
    """Batches for training, shuffled anew in each pass, without end.

    A batch is a function of the seed and of its number alone, so that a resumed run goes on from
    any step at no cost, and nothing but the examples themselves is kept. The last batch of a pass
    may be smaller.

    Args:
      examples: See `load`.
      batch_size: Examples in a global batch, over all replicas.
      seed: Of the shuffling: the same seed gives the same batches in the same order.
      start: Batches to leave out, of those that a run from the beginning would take.

    Raises:
      ValueError: There are no examples.
    """
    total = len(examples[mnist.LABEL])
    if not total:
        raise ValueError("there are no examples to train on; check the files of the train split")
    steps = -(-total // batch_size)

    def one_order(number: tf.Tensor) -> tf.data.Dataset:
        # One permutation for a pass, then slices of it. `shuffle` over single examples takes four
        # times as long, and a run that resumes would have to repeat it from the start.
        order = tf.random.experimental.stateless_shuffle(tf.range(total), [seed, number])
        firsts = tf.data.Dataset.range(0, total, batch_size)
        return firsts.map(lambda first: order[first : first + batch_size])

    rows = tf.data.Dataset.range(start // steps, tf.int64.max).flat_map(one_order)
    return _gathered(examples, rows.skip(start % steps))


def one_pass(examples: Examples, batch_size: int) -> tf.data.Dataset:
    """Batches of all examples in their order; the last may be smaller."""
    rows = tf.data.Dataset.range(len(examples[mnist.LABEL])).batch(batch_size)
    return _gathered(examples, rows)


def distribute(
    strategy: tf.distribute.Strategy,
    batches: tf.data.Dataset,
    batch_size: int,
    *,
    padded: bool = True,
) -> tf.distribute.DistributedDataset:
    """Splits each global batch among the replicas.

    Args:
      strategy: Whose replicas take the slices.
      batches: Global batches of at most `batch_size` examples.
      batch_size: Examples in a full global batch.
      padded: Fill up each batch with examples of weight 0 to one static shape that the replicas
        share evenly. XLA compiles anew for each shape, and a TPU admits no other way; without it,
        replicas can get batches of different sizes, or empty ones.
    """
    if padded:
        replicas = strategy.num_replicas_in_sync
        size = -(-batch_size // replicas) * replicas
        # One after the other: handing so little work to other threads costs more than it takes.
        batches = batches.map(lambda batch: pad(batch, size))
    options = untuned()
    # Each worker reads all files and keeps its slice of every global batch. OFF would give all
    # workers the same examples, FILE needs as many files as workers.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return strategy.experimental_distribute_dataset(batches.with_options(options).prefetch(_AHEAD))


def untuned() -> tf.data.Options:
    """Without tf.data's tuner: AUTOTUNE then means as many calls at once as there are cores.

    The tuner looks at its iterator after 10 ms, and each time after twice as long. An iterator that
    is deleted wakes it up, but often before it can see that it is to end (TensorFlow's
    `CancellationManager::StartCancel` sets `is_cancelled_` after its callbacks), and so waits for
    the tuner's next turn: for up to 30 s after 30 s of training, and never more than a minute.
    (Under a strategy of several devices TensorFlow adds datasets of its own, whose tuner cannot be
    turned off.)
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def pad(batch: dict[str, tf.Tensor], size: int) -> dict[str, tf.Tensor]:
    """Fills a batch up to `size` examples with zeros of weight 0."""
    count = tf.shape(batch[mnist.LABEL])[0]
    weight = batch.get(WEIGHT, tf.ones([count]))

    def fill(tensor: tf.Tensor) -> tf.Tensor:
        rows = [[0, size - count]] + [[0, 0]] * (tensor.shape.rank - 1)
        return tf.ensure_shape(tf.pad(tensor, rows), [size, *tensor.shape[1:]])

    return {name: fill(tensor) for name, tensor in {**batch, WEIGHT: weight}.items()}


def _gathered(examples: Examples, rows: tf.data.Dataset) -> tf.data.Dataset:
    """A batch of the examples at each of `rows`."""
    gathers = {name: _gatherer(values) for name, values in examples.items()}

    def gather(batch: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: of(batch) for name, of in gathers.items()}

    return rows.map(gather, num_parallel_calls=tf.data.AUTOTUNE)


def _gatherer(values: np.ndarray | ImageFile) -> Callable[[tf.Tensor], tf.Tensor]:
    if not isinstance(values, ImageFile):
        tensor = tf.constant(values)
        return lambda rows: tf.gather(tensor, rows)

    def read(rows: tf.Tensor) -> tf.Tensor:
        images = tf.numpy_function(values.take, [rows], tf.uint8, stateful=False)
        return tf.ensure_shape(images, [None, mnist.HEIGHT, mnist.WIDTH])

    return read
