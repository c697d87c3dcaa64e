"""From gzipped TFRecords of tf.Example to batches, the same way for training and serving.

A batch is a dictionary of `image` uint8 [batch, 28, 28], `label` int64 [batch] and, once padded,
`weight` float32 [batch]: 1 for an example, 0 for padding.
"""

from collections.abc import Sequence

import tensorflow as tf

from schemas import mnist

WEIGHT = "weight"

# Examples parsed by one call: parsing a batch costs a sixth of parsing one by one.
_PARSE_BATCH = 512


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


def dataset(
    files: str | Sequence[str],
    *,
    batch_size: int,
    training: bool,
    seed: int = 0,
    shuffle_buffer: int = 60_000,
    cache: str = "",
) -> tf.data.Dataset:
    """Batches of examples; the last batch of a pass may be smaller.

    Args:
      files: File pattern or patterns of gzipped TFRecords.
      batch_size: Examples in a global batch, over all replicas.
      training: Shuffle anew in each pass, without end; otherwise one pass, in file order.
      seed: Of the shuffling: the same seed gives the same batches in the same order.
      shuffle_buffer: Examples that the shuffling draws from (784 bytes each).
      cache: File that decoded examples are kept in between passes; empty: memory.

    Raises:
      FileNotFoundError: No file matches.
    """
    # Decoded once, cached, then only shuffled and sliced: no parsing after the first pass.
    examples = _records(files).batch(_PARSE_BATCH).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    examples = examples.cache(cache)
    if training:
        examples = examples.unbatch().shuffle(shuffle_buffer, seed=seed).batch(batch_size).repeat()
    else:
        examples = examples.rebatch(batch_size)
    return examples.prefetch(tf.data.AUTOTUNE)


def count(files: str | Sequence[str]) -> int:
    """Number of examples in the files.

    Raises:
      FileNotFoundError: No file matches.
    """
    sizes = _records(files).batch(_PARSE_BATCH).map(tf.size)
    return int(sizes.reduce(0, lambda total, size: total + size).numpy())


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
        batches = batches.map(lambda batch: pad(batch, size), num_parallel_calls=tf.data.AUTOTUNE)
    options = tf.data.Options()
    # Each worker reads all files and keeps its slice of every global batch. OFF would give all
    # workers the same examples, FILE needs as many files as workers.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return strategy.experimental_distribute_dataset(
        batches.with_options(options).prefetch(tf.data.AUTOTUNE)
    )


def pad(batch: dict[str, tf.Tensor], size: int) -> dict[str, tf.Tensor]:
    """Fills a batch up to `size` examples with zeros of weight 0."""
    count = tf.shape(batch[mnist.LABEL])[0]
    weight = batch.get(WEIGHT, tf.ones([count]))

    def fill(tensor: tf.Tensor) -> tf.Tensor:
        rows = [[0, size - count]] + [[0, 0]] * (tensor.shape.rank - 1)
        return tf.ensure_shape(tf.pad(tensor, rows), [size, *tensor.shape[1:]])

    return {name: fill(tensor) for name, tensor in {**batch, WEIGHT: weight}.items()}


def _records(files: str | Sequence[str]) -> tf.data.TFRecordDataset:
    paths = sorted(tf.io.gfile.glob(files))
    if not paths:
        raise FileNotFoundError(f"no TFRecord file matches {files!r}")
    return tf.data.TFRecordDataset(paths, compression_type="GZIP")
