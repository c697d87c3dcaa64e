"""Processors: what can be done to gradients between computing and applying them.

A processor takes an `Update` and returns one. All of them see the gradients of the global batch, so
that they do the same on any number of replicas. One of your own is three lines:

    @processors.register("sign")
    def sign(update):
        return update.replace(gradients=[tf.sign(g) for g in update.gradients])
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from components.trainer.strategy import replica_local


@dataclasses.dataclass(frozen=True)
class Update:
    """A step about to be taken; every field is the same on every replica.

    Attributes:
      gradients: Of the loss of the global batch: a dense tensor for each variable.
      variables: The trainable variables.
      weight: Scalar, summed weight of the batch's examples; 0 once the batch is dropped.
      step: Int64 scalar, number of the step, from 1.
      ready: Bool scalar; False holds the optimizer back.
    """

    gradients: Sequence[tf.Tensor]
    variables: Sequence[tf.Variable]
    weight: tf.Tensor
    step: tf.Tensor
    ready: tf.Tensor

    def replace(self, **fields: Any) -> "Update":
        """A copy with some fields changed."""
        return dataclasses.replace(self, **fields)


class Processor(tf.Module):
    """A processor with state, or one that may hold an update back.

    A plain function from `Update` to `Update` is a processor too.
    """

    may_wait = False  # Whether `ready` can become False.

    def build(self, variables: Sequence[tf.Variable]) -> None:
        """Makes the state; called once, in the strategy's scope."""

    def __call__(self, update: Update) -> Update:
        raise NotImplementedError


# By the name that settings use.
REGISTRY: dict[str, Callable[..., Update] | type[Processor]] = {}


def register(name: str):
    """Makes a processor known to `create`: a function of an update (and keywords), or a class."""

    def add(processor):
        REGISTRY[name] = processor
        return processor

    return add


@register("clip_by_value")
class ClipByValue(Processor):
    """Limits each element of the gradients to [-limit, limit]."""

    def __init__(self, limit: float):
        super().__init__()
        self._limit = _positive("limit", limit)

    def __call__(self, update: Update) -> Update:
        low, high = -self._limit, self._limit
        return update.replace(gradients=[tf.clip_by_value(g, low, high) for g in update.gradients])


@register("clip_by_norm")
class ClipByNorm(Processor):
    """Scales each variable's gradient down to a norm of at most `max_norm`."""

    def __init__(self, max_norm: float):
        super().__init__()
        self._max_norm = _positive("max_norm", max_norm)

    def __call__(self, update: Update) -> Update:
        return update.replace(
            gradients=[tf.clip_by_norm(g, self._max_norm) for g in update.gradients]
        )


@register("clip_by_global_norm")
class ClipByGlobalNorm(Processor):
    """Scales all gradients by one factor, so that their common norm is at most `max_norm`.

    Pascanu, Mikolov, Bengio 2013, arXiv:1211.5063, algorithm 1.
    """

    def __init__(self, max_norm: float):
        super().__init__()
        self._max_norm = _positive("max_norm", max_norm)

    def __call__(self, update: Update) -> Update:
        clipped, _ = tf.clip_by_global_norm(update.gradients, self._max_norm)
        return update.replace(gradients=clipped)


@register("clip_adaptively")
class ClipAdaptively(Processor):
    """Limits the norm of each unit's gradient to `ratio` times the norm of the unit's weights.

    Brock et al. 2021, arXiv:2102.06171, equation 3. A unit is what one output feature is computed
    from; a bias or other vector counts as one unit. The paper leaves the last layer unclipped.

    Args:
      ratio: The paper's lambda, 0.01 there for a batch of 4096 and more for smaller batches.
      epsilon: Least norm of the weights, so that weights of 0 can move.
      exclude: Names of layers to leave unclipped.
    """

    def __init__(self, ratio: float = 0.01, epsilon: float = 1e-3, exclude: Sequence[str] = ()):
        super().__init__()
        self._ratio = _positive("ratio", ratio)
        self._epsilon = _positive("epsilon", epsilon)
        self._exclude = set(exclude)

    def __call__(self, update: Update) -> Update:
        pairs = zip(update.gradients, update.variables, strict=True)
        return update.replace(gradients=[self._clip(g, v) for g, v in pairs])

    def _clip(self, gradient: tf.Tensor, variable: tf.Variable) -> tf.Tensor:
        if self._exclude.intersection(getattr(variable, "path", variable.name).split("/")):
            return gradient
        norm = _unit_norm(gradient)
        limit = self._ratio * tf.maximum(_unit_norm(tf.convert_to_tensor(variable)), self._epsilon)
        return gradient * tf.math.divide_no_nan(tf.minimum(norm, limit), norm)


@register("centralize")
class Centralize(Processor):
    """Takes the mean out of the gradient of each unit's weights, vectors left as they are.

    Yong et al. 2020, arXiv:2004.01461, equation 1.
    """

    def __call__(self, update: Update) -> Update:
        return update.replace(gradients=[self._centralize(g) for g in update.gradients])

    def _centralize(self, gradient: tf.Tensor) -> tf.Tensor:
        if gradient.shape.rank < 2:
            return gradient
        return gradient - tf.reduce_mean(gradient, _unit_axes(gradient), keepdims=True)


@register("add_noise")
class AddNoise(Processor):
    """Adds Gaussian noise of variance eta / (1 + t)^gamma, t the steps taken before.

    Neelakantan et al. 2015, arXiv:1511.06807, section 3. The noise depends on seed, variable and
    step alone.
    """

    def __init__(self, eta: float, gamma: float = 0.55, seed: int = 0):
        super().__init__()
        self._eta, self._gamma, self._seed = _positive("eta", eta), gamma, seed

    def __call__(self, update: Update) -> Update:
        # (1 + t) is the number of this step.
        variance = self._eta / tf.cast(update.step, tf.float64) ** self._gamma
        noisy = []
        for index, gradient in enumerate(update.gradients):
            key = tf.stack([self._seed + 1_000_003 * tf.constant(index, tf.int64), update.step])
            noise = tf.random.stateless_normal(gradient.shape, key, dtype=gradient.dtype)
            noisy.append(gradient + tf.cast(tf.sqrt(variance), gradient.dtype) * noise)
        return update.replace(gradients=noisy)


@register("skip_nonfinite")
class SkipNonfinite(Processor):
    """Drops a batch whose gradients are not all finite.

    The gradients are those of the global batch: one replica's infinity is in them, so all replicas
    decide alike.
    """

    may_wait = True

    def __call__(self, update: Update) -> Update:
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in update.gradients])
        return update.replace(
            gradients=[tf.where(finite, g, tf.zeros_like(g)) for g in update.gradients],
            weight=tf.where(finite, update.weight, tf.zeros_like(update.weight)),
            ready=update.ready & finite,
        )


@register("accumulate")
class Accumulate(Processor):
    """Lets the optimizer act on every k-th batch, with the gradient of the k batches together.

    Batches count by their weight, so that k batches give the gradient of one that is k times as
    large, partial batches included. Processors after this one see that gradient.

    Args:
      batches: The k.
    """

    may_wait = True

    def __init__(self, batches: int):
        super().__init__()
        if batches < 1:
            raise ValueError(f"batches must be a positive integer, got {batches}")
        self._batches = batches

    def build(self, variables: Sequence[tf.Variable]) -> None:
        zeros = [tf.zeros(v.shape, v.dtype) for v in variables]
        self._sums = [replica_local(zero, zero.dtype, "gradient_sum") for zero in zeros]
        self._weight = replica_local(0, tf.as_dtype(variables[0].dtype), "weight_sum")
        self._count = replica_local(0, tf.int64, "batches")

    def __call__(self, update: Update) -> Update:
        count = self._count + 1
        weight = self._weight + tf.cast(update.weight, self._weight.dtype)
        pairs = zip(self._sums, update.gradients, strict=True)
        sums = [total + g * tf.cast(update.weight, g.dtype) for total, g in pairs]
        full = count >= self._batches
        for variable, value in zip(
            [*self._sums, self._weight, self._count], [*sums, weight, count], strict=True
        ):
            variable.assign(tf.where(full, tf.zeros_like(value), value))
        means = [tf.math.divide_no_nan(total, tf.cast(weight, total.dtype)) for total in sums]
        return update.replace(gradients=means, ready=full & (weight > 0))


def _unit_axes(tensor: tf.Tensor) -> list[int] | None:
    """All axes but that of the output features, the last; all of a vector's (None)."""
    return list(range(tensor.shape.rank - 1)) or None


def _unit_norm(tensor: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.reduce_sum(tf.square(tensor), _unit_axes(tensor), keepdims=True))


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be greater than 0, got {value}")
    return value
