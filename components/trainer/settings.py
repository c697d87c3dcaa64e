"""What can be set on the Trainer. No TensorFlow here: settings are read before it is imported."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen group of settings; a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OptimizerSettings(BaseModel):
    """The optimizer by name; every other key is an argument of that optimizer's signature."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field("schedule_free_adamw", description="A name of components.trainer.optimizers")

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of the optimizer."""
        return dict(self.model_extra or {})


class CheckpointSettings(Section):
    """When the state of the training is saved, so that a run that was killed can go on.

    None of this changes what model comes out. An interrupted run (SIGTERM, Ctrl-C) saves anyway.
    """

    minutes: float = Field(
        1.0, ge=0, description="Minutes of training between checkpoints; 0: not by time"
    )
    steps: int = Field(0, ge=0, description="Training steps between checkpoints; 0: not by steps")


class TrainSettings(Section):
    """How the model is trained."""

    model: Literal["cnn", "small_cnn", "deep_cnn", "mlp", "sequence", "encoder_decoder"] = Field(
        "cnn", description="A name of components.trainer.models"
    )
    model_arguments: dict[str, Any] = Field(
        default_factory=dict, description="Keyword arguments of the model, e.g. {l2: 1e-4}"
    )
    epochs: int = Field(7, gt=0, description="Most passes over the train split")
    batch_size: int = Field(128, gt=0, description="Examples in a global batch, over all replicas")
    patience: int = Field(
        3, gt=0, description="Epochs without a lower eval loss before training stops"
    )
    warm_start: bool = Field(False, description="Start from the weights of the pushed model")
    steps_per_call: int = Field(
        40, gt=0, description="Training steps in one call of the compiled function"
    )
    seed: int = Field(0, ge=0, description="Of initialization, shuffling, dropout, augmentation")
    strategy: str = Field(
        "default",
        description="default | one_device | mirrored | mirrored:N | multi_worker | tpu",
    )
    jit_compile: bool | None = Field(
        None, description="Compile the step with XLA; unset: on a TPU only (slower on CPUs)"
    )
    mixed_precision: bool = Field(
        False, description="Compute in float16 with a dynamic loss scale (bfloat16 on a TPU)"
    )
    class_weights: dict[int, float] = Field(
        default_factory=dict, description="Weight of each example by its class; unset classes: 1"
    )
    gradients: list[dict[str, Any]] = Field(
        default_factory=list,
        description="Processors of the aggregated gradient, in order, e.g. "
        "[{name: clip_by_global_norm, max_norm: 1.0}]",
    )
