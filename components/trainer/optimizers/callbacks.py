"""The right set of weights in Keras's own `fit`, `evaluate` and `predict`."""

import keras

from components.trainer.optimizers.base import Optimizer


class EvaluationWeights(keras.callbacks.Callback):
    """Trains at the training weights; validates, evaluates and predicts at the evaluation weights.

    After `fit` the model holds the evaluation weights, so that it can be saved or exported; the
    next `fit` with this callback goes on from the training weights. Without it `fit` leaves the
    training weights in the model.

    Does nothing for an optimizer with one set of weights.
    """

    def __init__(self):
        super().__init__()
        self._in_fit = False

    def on_train_begin(self, logs=None):
        """The training weights are put in."""
        self._in_fit = True
        self._use(evaluating=False)

    def on_train_end(self, logs=None):
        """The evaluation weights are left in."""
        self._in_fit = False
        self._use(evaluating=True)

    def on_test_begin(self, logs=None):
        """The evaluation weights are put in."""
        self._use(evaluating=True)

    def on_test_end(self, logs=None):
        """The training weights come back if `fit` goes on."""
        self._use(evaluating=not self._in_fit)

    def on_predict_begin(self, logs=None):
        """The evaluation weights are put in, and stay."""
        self._use(evaluating=True)

    def _use(self, *, evaluating: bool) -> None:
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        if isinstance(optimizer, Optimizer):
            if evaluating:
                optimizer.use_evaluation_weights()
            else:
                optimizer.use_training_weights()
