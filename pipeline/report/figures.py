"""The figures of the report: SVG to put into HTML, in the colours of the page's theme."""

import html
import io
import re
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from components.trainer.actions import Epoch
from pipeline.report.measures import Calibration, Share

# Matplotlib wants colours, the page has CSS variables that change with the theme.
_VARIABLES = {
    "#010101": "var(--ink)",
    "#010102": "var(--soft)",
    "#010103": "var(--line)",
    "#010104": "var(--accent)",
    "#010105": "var(--second)",
}
_INK, _SOFT, _LINE, _ACCENT, _SECOND = _VARIABLES
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    "font.size": 9.5,
    "text.color": _SOFT,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _SOFT,
    "ytick.labelcolor": _SOFT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
}
# In inches of 72 units each: a phone of 360 pixels shows them at their natural size.
_WIDTH = 4.3


def training(history: Sequence[Epoch], metric: str, exported: int) -> str:
    """A metric of both splits by epoch; a ring marks the epoch that was exported.

    Args:
      history: The epochs, in order.
      metric: `loss` or `accuracy`.
      exported: Number of the exported epoch.
    """
    numbers = [epoch.number for epoch in history]
    with matplotlib.rc_context(_STYLE):
        figure, axes = _figure(height=2.6)
        for split, colour, marker in (("train", _SECOND, "s"), ("eval", _ACCENT, "o")):
            values = [getattr(epoch, split)[metric] for epoch in history]
            axes.plot(numbers, values, color=colour, marker=marker, label=split)
            if split == "eval":
                best = values[numbers.index(exported)]
                axes.plot(exported, best, "o", markersize=10, mfc="none", mec=colour, mew=1.2)
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.margins(x=0.06)
        axes.grid(axis="y")
        if metric == "accuracy":
            axes.yaxis.set_major_formatter(FuncFormatter(_percent))
        elif all(min(epoch.train[metric], epoch.eval[metric]) > 0 for epoch in history):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FuncFormatter(_plain))
            axes.yaxis.set_minor_locator(LogLocator(subs=()))
        axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
        last = history[-1]
        description = (
            f"{metric} by epoch; after the last, epoch {last.number}: "
            f"train {last.train[metric]:.4f}, eval {last.eval[metric]:.4f}"
        )
        return _inline(figure, f"training-{metric}", description)


def classes(
    names: Sequence[str], shares: Sequence[Share | None], pushed: Sequence[Share | None]
) -> str:
    """Accuracy of each class with its interval, beside the pushed model's where there is one.

    Args:
      names: Of the classes.
      shares: Their accuracies; None for a class without examples.
      pushed: The same of the pushed model; all None when nothing was pushed yet.
    """
    rows = np.arange(len(names))
    compared = any(pushed)
    with matplotlib.rc_context(_STYLE):
        figure, axes = _figure(height=0.8 + 0.28 * len(names))
        shift = 0.16 if compared else 0
        if compared:
            _intervals(axes, rows + shift, pushed, _SECOND, "s", "pushed before")
        _intervals(axes, rows - shift, shares, _ACCENT, "o", "this model")
        axes.set_yticks(rows, names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", labelcolor=_INK)
        axes.set_xlabel("accuracy")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
        axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        axes.grid(axis="x")
        axes.spines.left.set_visible(False)
        if compared:
            axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
        lowest = min(
            (share.value, name) for share, name in zip(shares, names, strict=True) if share
        )
        description = f"accuracy of each class; the lowest: {lowest[1]} with {lowest[0]:.2%}"
        return _inline(figure, "classes", description)


def calibration(found: Calibration) -> str:
    """Accuracy by confidence, and how many predictions there are of each confidence."""
    confidence = [each.confidence for each in found.bins]
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, 3.9), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot([0, 1], [0, 1], color=_SOFT, linewidth=1, dashes=(3, 3))
        _whiskers(upper, confidence, [each.accuracy for each in found.bins], _ACCENT)
        upper.set(ylabel="accuracy", xlim=(0, 1.03), ylim=(-0.03, 1.03))
        lower.bar(confidence, [each.accuracy.of for each in found.bins], 0.03, color=_ACCENT)
        lower.set(xlabel="confidence", ylabel="predictions", yscale="log")
        lower.set_ylim(bottom=0.7)
        lower.yaxis.set_major_locator(LogLocator(numticks=4))
        lower.yaxis.set_major_formatter(FuncFormatter(_plain))
        lower.yaxis.set_minor_locator(LogLocator(subs=()))
        for axes in (upper, lower):
            axes.grid(axis="y")
            axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        upper.yaxis.set_major_formatter(FuncFormatter(_percent))
        figure.align_ylabels()
        description = f"accuracy by confidence; expected calibration error {found.error:.2%}"
        return _inline(figure, "calibration", description)


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def _intervals(
    axes: Axes, rows: np.ndarray, shares: Sequence[Share | None], colour: str, mark: str, label: str
) -> None:
    known = [(row, share) for row, share in zip(rows, shares, strict=True) if share]
    for row, share in known:
        axes.plot([share.low, share.high], [row, row], color=colour, linewidth=1.6, alpha=0.55)
    values = [share.value for _, share in known]
    axes.plot(values, [row for row, _ in known], mark, color=colour, label=label)


def _whiskers(axes: Axes, x: Sequence[float], shares: Sequence[Share], colour: str) -> None:
    for where, share in zip(x, shares, strict=True):
        axes.plot([where, where], [share.low, share.high], color=colour, linewidth=1.6, alpha=0.55)
    axes.plot(x, [share.value for share in shares], "o", color=colour)


def _plain(value: float, _: int) -> str:
    return f"{value:,g}"


def _percent(value: float, _: int) -> str:
    return f"{100 * value:g}%"


def _inline(figure: Figure, name: str, description: str) -> str:
    """The figure as an SVG element.

    Args:
      figure: The figure.
      name: Goes before every id, as ids must be unique in a page.
      description: For those who cannot see it.
    """
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    svg = file.getvalue()
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    # Its one style rule would hold for the whole page, which has it for figures.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = body.replace("xlink:href=", "href=")
    for reference in ('id="', 'href="#', "url(#"):
        body = body.replace(reference, f"{reference}{name}-")
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)
    width, height = (72 * inches for inches in figure.get_size_inches())
    label = f'role="img" aria-label="{html.escape(description)}"'
    return f'<svg viewBox="0 0 {width:g} {height:g}" {label}>{body}'
