"""Refuses models that would train wrongly in the loop, before they do."""

import inspect
from collections.abc import Iterator
from typing import Any

import keras

from components.trainer import augmentation, layers


class LayerError(ValueError):
    """A layer of the model would give a wrong result without saying so."""


def check_layers(model: keras.Model, replicas: int) -> None:
    """Refuses layers whose result would be wrong.

    Args:
      model: To be trained.
      replicas: Number of replicas.

    Raises:
      LayerError: Keras's BatchNormalization; on more than one replica a layer of Keras that draws
        random numbers; a layer that the model doesn't track.
    """
    tracked = model._flatten_layers()
    for layer in tracked:
        if type(layer) is keras.layers.BatchNormalization:
            raise LayerError(
                f"layer '{layer.name}' normalizes over the examples of one replica, padding "
                "included; use components.trainer.layers.BatchNormalization"
            )
        if replicas > 1 and _draws_on_its_own(layer):
            raise LayerError(
                f"layer '{layer.name}' ({type(layer).__name__}) draws the same random numbers on "
                f"each of {replicas} replicas; use Dropout or SpatialDropout1D of "
                "components.trainer.layers, a subclass of components.trainer.augmentation's "
                "Augmentation, or `Batch.uniform` in a layer of your own"
            )
    for place, layer in _untracked(tracked):
        raise LayerError(
            f"layer '{layer.name}' at {place} is not tracked by the model, so its weights would "
            "not be trained and its losses would be lost; make it an attribute of a layer, or an "
            "item of a list or dictionary that is one"
        )


def _draws_on_its_own(layer: keras.Layer) -> bool:
    """Whether the layer has a random generator of Keras's, and a rate at which it is used."""
    if isinstance(layer, layers.GlobalMask | augmentation.Augmentation):
        return False
    names = ("rate", "dropout", "recurrent_dropout")  # The last two are of recurrent cells.
    rates = [getattr(layer, name) for name in names if hasattr(layer, name)]
    generators = [v for v in vars(layer).values() if isinstance(v, keras.random.SeedGenerator)]
    return bool(generators) and (any(rates) or not rates)


def _untracked(tracked: list[keras.Layer]) -> Iterator[tuple[str, keras.Layer]]:
    """Layers held where Keras doesn't look: in plain objects, and in functions."""
    known = {id(layer) for layer in tracked}
    seen: set[int] = set()

    def search(value: Any, place: str) -> Iterator[tuple[str, keras.Layer]]:
        if id(value) in seen or id(value) in known:
            return
        seen.add(id(value))
        if isinstance(value, keras.Layer):
            yield place, value
            return
        for name, part in _parts(value):
            yield from search(part, f"{place}{name}")

    for layer in tracked:
        for name, value in vars(layer).items():
            yield from search(value, f"{layer.name}.{name}")


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value holds, each part with how it is reached."""
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif str(getattr(value, "__module__", "")).split(".")[0] in ("keras", "tensorflow"):
        return
    elif inspect.isfunction(value):
        variables = inspect.getclosurevars(value)
        for name, part in {**variables.nonlocals, **variables.globals}.items():
            yield f" -> {name}", part
    elif hasattr(value, "__dict__") and not inspect.ismodule(value) and not inspect.isclass(value):
        yield from ((f".{name}", part) for name, part in vars(value).items())
