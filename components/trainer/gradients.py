"""Gradients in three visible steps: compute, process, apply.

`compute` gives the gradients of the loss of the global batch, the same on every replica; `process`
changes them; `optimizers.base.apply_aggregated` applies them. (Keras's optimizers clip before the
sum over the replicas, which gives another result for each number of replicas.)
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from components.trainer import processors
from components.trainer.processors import Update
from components.trainer.strategy import sum_over_replicas


class ProcessorError(ValueError):
    """There is no such processor, or it has no such argument."""


def create(settings: Iterable[Mapping[str, Any]]) -> list[Callable[[Update], Update]]:
    """The processors that the settings name, such as [{'name': 'clip_by_norm', 'max_norm': 1.0}].

    Raises:
      ProcessorError: A name is unknown, or an argument unknown or missing.
      ValueError: The value of an argument is not allowed.
    """
    return [_create(**setting) for setting in settings]


def _create(name: str = "", **arguments: Any) -> Callable[[Update], Update]:
    if name not in processors.REGISTRY:
        near = difflib.get_close_matches(name, processors.REGISTRY, n=1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"known: {', '.join(sorted(processors.REGISTRY))}"
        )
        raise ProcessorError(f"{name!r} is not a gradient processor; {hint}")
    processor = processors.REGISTRY[name]
    bound = () if inspect.isclass(processor) else (None,)  # A function's first one is the update.
    try:
        inspect.signature(processor).bind(*bound, **arguments)
    except TypeError as error:
        signature = inspect.signature(processor)
        raise ProcessorError(f"gradient processor {name}{signature}: {error}") from None
    if inspect.isclass(processor):
        return processor(**arguments)
    return functools.partial(processor, **arguments)


def compute(
    loss: Callable[[], tf.Tensor],
    variables: Sequence[tf.Variable],
    scale: tf.Tensor | None = None,
) -> list[tf.Tensor]:
    """The gradients of the global loss; call it in replica context.

    Args:
      loss: Gives this replica's share of the loss, a scalar; the shares add up to the loss.
      variables: To differentiate by.
      scale: The loss is multiplied by it before, and the gradients are divided by it after they are
        computed, so that small ones don't vanish in float16.

    Returns:
      A gradient for each variable, dense (rows of an embedding that occur more than once are added
      up), and zeros where the loss doesn't depend on the variable.
    """
    with tf.GradientTape() as tape:
        value = loss()
        if scale is not None:
            value *= tf.cast(scale, value.dtype)
    own = tape.gradient(value, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    total = sum_over_replicas([tf.convert_to_tensor(gradient) for gradient in own])
    if scale is None:
        return total
    return [gradient / tf.cast(scale, gradient.dtype) for gradient in total]


def process(chain: Iterable[Callable[[Update], Update]], update: Update) -> Update:
    """Hands the update from one processor to the next; call it in replica context."""
    for processor in chain:
        update = processor(update)
    return update
