"""How a run ended: pushed, nothing new, or refused, and why."""

import dataclasses
from dataclasses import dataclass

from pipeline import verdict
from pipeline.local_runner import NodeResult


@dataclass(frozen=True)
class Outcome:
    """The end of a run whose nodes all finished.

    Attributes:
      accuracy: Of the trained model on the test split, from 0 to 1.
      baseline_accuracy: Of the model that was pushed before; None when there was none.
      refusals: Why the model was refused; empty when it was accepted.
      nothing_new: Why an accepted model was not pushed; None when it was.
      version: The pushed version's number, where one was pushed.
      path: Its folder.
    """

    accuracy: float
    baseline_accuracy: float | None
    refusals: tuple[str, ...]
    nothing_new: str | None
    version: int | None
    path: str | None

    @classmethod
    def of(cls, results: dict[str, NodeResult]) -> "Outcome":
        """Reads the outcome from the output artifacts of the last nodes."""
        found = verdict.read(
            results["Evaluator"].outputs["evaluation"][0].uri,
            results["ModelCheck"].outputs["blessing"][0].uri,
        )
        [pushed] = results["Pusher"].outputs["pushed_model"]
        was_pushed = bool(pushed.get_int_custom_property("pushed"))
        return cls(
            accuracy=found.metrics.accuracy,
            baseline_accuracy=found.baseline.accuracy if found.baseline else None,
            refusals=found.refusals,
            nothing_new=found.nothing_new,
            version=int(pushed.get_string_custom_property("pushed_version"))
            if was_pushed
            else None,
            path=pushed.get_string_custom_property("pushed_destination") if was_pushed else None,
        )

    @property
    def accepted(self) -> bool:
        """Whether the model earned being pushed."""
        return not self.refusals

    def headline(self) -> str:
        """The outcome in plain words, without the reasons of a refusal."""
        accuracy = f"Test accuracy {self.accuracy:.2%}"
        if self.baseline_accuracy is not None:
            accuracy += f" (pushed before: {self.baseline_accuracy:.2%})"
        if self.refusals:
            return f"{accuracy}. Refused, nothing was pushed"
        if self.version is None:
            return f"{accuracy}. Nothing new to push: the model is {self.nothing_new}."
        return f"{accuracy}. Pushed as version {self.version}: {self.path}"

    def sentence(self) -> str:
        """The headline, and the reasons of a refusal."""
        if not self.refusals:
            return self.headline()
        return "\n".join([f"{self.headline()}:", *(f"  - {reason}" for reason in self.refusals)])

    def as_dict(self) -> dict:
        """The fields, and `verdict`: pushed, nothing_new or refused."""
        if self.refusals:
            name = "refused"
        else:
            name = "nothing_new" if self.version is None else "pushed"
        return {"verdict": name, **dataclasses.asdict(self)}
