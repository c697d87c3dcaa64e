"""How values are written for people."""

from datetime import datetime, timezone
from typing import Any

from pipeline import changes

NONE = "–"
NO_CLASSES = "Nothing is known by class: the files of the Evaluator are gone."

STYLES = {
    "pushed": "green",
    "nothing_new": "blue",
    "refused": "bold yellow",
    "failed": "bold red",
    "interrupted": "yellow",
    "killed": "bold red",
    "running": "bold cyan",
    "done": "green",
    "cached": "blue",
}


def took(seconds: float | None) -> str:
    """A duration; below a minute with a tenth of a second."""
    if seconds is None:
        return NONE
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def ago(time: datetime) -> str:
    """How long ago it was, in the largest unit that fits; clocks that went back do not matter."""
    seconds = (datetime.now(timezone.utc) - time).total_seconds()
    for name, size in (("day", 86_400), ("hour", 3_600), ("min", 60)):
        count = int(seconds // size)
        if count > 0:
            plural = "s" if count > 1 and name != "min" else ""
            return f"{count} {name}{plural} ago"
    return "just now"


def clock(time: datetime) -> str:
    """A time on the reader's clock."""
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def percent(share: float | None) -> str:
    """A share as percent."""
    return NONE if share is None else f"{share:.2%}"


def points(change: float) -> str:
    """The difference of two shares, in points of percent."""
    return f"{100 * change:+.2f}"


def value(of: Any) -> str:
    """The value of a setting."""
    return NONE if of is changes.UNSET else changes.text(of)


def fingerprint(digest: str | None) -> str:
    """The beginning of a SHA-256, which is enough to tell two apart."""
    return digest[:12] if digest else NONE


def model(settings: dict[str, Any]) -> str:
    """What was trained with what."""
    names = [settings.get("train", {}).get("model"), settings.get("optimizer", {}).get("name")]
    return ", ".join(filter(None, names)) or "settings are lost"
