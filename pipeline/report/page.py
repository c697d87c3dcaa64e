"""From a finished run to `report.html` in its folder."""

from collections.abc import Mapping
from pathlib import Path

import jinja2

from components.files import write_whole
from pipeline import changes
from pipeline.report import figures
from pipeline.report.content import Content, gather

FILE = "report.html"


def write(folder: Path) -> Path:
    """Makes the report of the run in `ROOT/logs/RUN`; one of before is replaced.

    Returns:
      Its path.

    Raises:
      RunError: The run's record is not whole.
    """
    content = gather(folder)
    path = folder / FILE
    write_whole(path, render(content, draw(content)).encode())
    return path


def draw(content: Content) -> dict[str, str]:
    """The figures, as SVG, by name."""
    return {
        "loss": figures.training(content.history, "loss", content.exported),
        "accuracy": figures.training(content.history, "accuracy", content.exported),
        "classes": figures.classes(
            [each.name for each in content.classes],
            [each.share for each in content.classes],
            [each.pushed for each in content.classes],
        ),
        "calibration": figures.calibration(content.calibration),
    }


def render(content: Content, drawn: Mapping[str, str]) -> str:
    """The page with the figures that `draw` gave."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "probability": probability,
        "p_value": p_value,
        "yaml": changes.text,
    }
    return environment.get_template(f"{FILE}.j2").render(content=content, figures=drawn)


def percent(share: float, digits: int = 2) -> str:
    """A share from 0 to 1 as people read it."""
    return f"{100 * share:.{digits}f}%"


def probability(share: float) -> str:
    """The same for what may be almost 0 or almost 1 but is neither."""
    if 0 < share < 0.0001:
        return "<0.01%"
    if 0.9999 < share < 1:
        return ">99.99%"
    return percent(share)


def p_value(value: float) -> str:
    """With its sign of comparison, e.g. `= 0.042`."""
    return "< 0.0001" if value < 0.0001 else f"= {value:.2g}"
