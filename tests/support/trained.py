"""A model that knows digits, trained in some seconds on a part of MNIST."""

import keras

from components.trainer import models, signatures

EXAMPLES = 6_000
EPOCHS = 4


def export(images, labels, folder: str) -> str:
    """Trains on the first examples and writes a SavedModel; about 96% accurate.

    Args:
      images: uint8 [examples, 28, 28].
      labels: [examples].
      folder: Where the SavedModel goes.
    """
    keras.utils.set_random_seed(0)
    model = models.create("cnn", dropout=0.1)
    logits = models.logits(model)
    logits.compile(
        keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    logits.fit(images[:EXAMPLES], labels[:EXAMPLES], batch_size=64, epochs=EPOCHS, verbose=0)
    signatures.export(model, folder)
    return folder
