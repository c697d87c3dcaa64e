"""Cron expressions of both platforms, checked before anything is sent: the clients do not.

Vertex AI takes 5 fields and a time zone. Kubeflow Pipelines takes 6, seconds first, in the time
zone of its server, UTC by default; https://pkg.go.dev/github.com/robfig/cron has the format.
"""

import difflib
import itertools
import zoneinfo
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Literal

from cronsim import CronSim, CronSimError

Fields = Literal[5, 6]

_NAMES = ("minute", "hour", "day of month", "month", "day of week")
# cronsim knows "last" and "nth weekday"; neither platform does.
_UNKNOWN = set("L#W")


class CronError(ValueError):
    """A cron expression, time zone or time that the platform would refuse or misread."""


def check(expression: str, fields: Fields) -> None:
    """Checks an expression.

    Args:
      expression: E.g. `0 3 * * 1`.
      fields: How many the platform takes.

    Raises:
      CronError: It is wrong, or no time ever matches it.
    """
    next(_times(expression, fields, datetime(2000, 1, 1, tzinfo=timezone.utc)))


def zone(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of an IANA name.

    Raises:
      CronError: There is none of that name.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = difflib.get_close_matches(name, zoneinfo.available_timezones(), n=1)
        hint = f"did you mean {near[0]}?" if near else "use an IANA name, e.g. Europe/Paris or UTC"
        raise CronError(f"time zone {name!r} is unknown; {hint}") from None


def moment(text: str, what: str) -> datetime | None:
    """A point in time from ISO 8601, with an offset from UTC; None for an empty text.

    Raises:
      CronError: It is no such time.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise CronError(
            f"{what} must be a time with its offset from UTC, e.g. 2030-01-31T03:00:00+01:00 or "
            f"2030-01-31T02:00:00Z, got {text!r}"
        )
    return parsed


def next_runs(
    expression: str,
    fields: Fields,
    time_zone: zoneinfo.ZoneInfo,
    *,
    after: datetime,
    until: datetime | None = None,
    count: int = 5,
) -> list[datetime]:
    """The next times that match, in `time_zone`; fewer than `count` when `until` comes first.

    Args:
      expression: The cron.
      fields: How many the platform takes.
      time_zone: Where the expression's hours are meant.
      after: No run is at or before this time.
      until: No run is after it.
      count: Most times to give.

    Raises:
      CronError: The expression is wrong.
    """
    times = _times(expression, fields, after.astimezone(time_zone))
    return list(
        itertools.islice(
            itertools.takewhile(lambda time: until is None or time <= until, times), count
        )
    )


def _times(expression: str, fields: Fields, after: datetime) -> Iterator[datetime]:
    parts = expression.split()
    names = _NAMES if fields == 5 else ("second", *_NAMES)
    if len(parts) != fields:
        raise CronError(
            f"cron {expression!r} has {len(parts)} fields, {fields} are needed "
            f"({', '.join(names)}), e.g. {'0 ' if fields == 6 else ''}0 3 * * 1 for 3 o'clock on "
            "Mondays"
        )
    *_, days, _, weekdays = parts
    _refuse_unknown(expression, "day of month", days)
    _refuse_unknown(expression, "day of week", weekdays)
    if fields == 6:
        if "7" in weekdays.split("/")[0]:
            raise CronError(f"cron {expression!r}: day of week goes from 0 (Sunday) to 6, got 7")
        # Kubeflow's word for "any" in either field of days.
        parts = [part.replace("?", "*") for part in parts]
    try:
        times = CronSim(" ".join(parts), after)
        return itertools.chain([next(times)], times)
    except CronSimError as error:
        raise CronError(f"cron {expression!r}: {str(error).lower()}") from None
    except StopIteration:
        raise CronError(f"cron {expression!r} matches no time in the next 50 years") from None


def _refuse_unknown(expression: str, name: str, part: str) -> None:
    # Names of days and months have letters of their own.
    for word in part.upper().replace("-", ",").split(","):
        if word[:3] not in ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT") and (
            _UNKNOWN & set(word)
        ):
            raise CronError(
                f"cron {expression!r}: {name} has {part!r}, but L, W and # are known to neither "
                "platform"
            )
