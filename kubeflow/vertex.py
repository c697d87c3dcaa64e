"""Submits to Vertex AI and keeps schedules there, by Google's own client."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from google.cloud import aiplatform

from kubeflow import cron
from kubeflow.settings import ScheduleSettings, VertexSettings


class VertexError(RuntimeError):
    """Vertex AI cannot be asked, or does not have what is asked for."""


@dataclass(frozen=True)
class Schedule:
    """A schedule as Vertex AI has it.

    Attributes:
      resource: Full resource name.
      name: Display name.
      state: ACTIVE, PAUSED or COMPLETED.
      cron: With its time zone, `TZ=ZONE MINUTE HOUR ...`.
      next_run: When the next run is due; None when none is.
    """

    resource: str
    name: str
    state: str
    cron: str
    next_run: datetime | None


@dataclass(frozen=True)
class Plan:
    """A request for a schedule, checked; `vertex.create` sends it.

    Attributes:
      name: Display name.
      arguments: Keyword arguments of `PipelineJob.create_schedule`.
      next_runs: The first runs, at most five.
    """

    name: str
    arguments: dict[str, Any]
    next_runs: list[datetime]


def connect(settings: VertexSettings, **client_options: Any) -> None:
    """Chooses project and region for all further calls.

    Args:
      settings: `project` must be set.
      **client_options: Further arguments of `aiplatform.init`.

    Raises:
      VertexError: There is no project.
    """
    if not settings.project:
        raise VertexError("vertex.project is not set: --set vertex.project=PROJECT")
    aiplatform.init(project=settings.project, location=settings.region, **client_options)


def submit(file: Path, name: str, settings: VertexSettings) -> str:
    """Starts one run; gives its full resource name.

    Args:
      file: PipelineJob in JSON, as compiled.
      name: Display name.
      settings: Where and as whom it runs. The client makes the bucket of the pipeline root when
        there is none.
    """
    job = _job(file, name)
    job.submit(service_account=settings.service_account or None, network=settings.network or None)
    return job.resource_name


def plan(name: str, settings: VertexSettings, now: datetime) -> Plan:
    """Checks a schedule. Nothing is sent.

    Args:
      name: Display name where the settings have none.
      settings: `schedule` says when.
      now: The time, with a time zone.

    Raises:
      CronError: Cron, time zone or a time is wrong, or no run would ever start.
    """
    wanted = settings.schedule
    zone = cron.zone(wanted.time_zone)
    start = cron.moment(wanted.start, "vertex.schedule.start")
    end = cron.moment(wanted.end, "vertex.schedule.end")
    if end and end <= max(start or now, now):
        raise cron.CronError(
            f"vertex.schedule.end is {wanted.end}, which is not after "
            f"{'the start' if start and start > now else 'now'}; no run would start"
        )
    runs = cron.next_runs(
        wanted.cron,
        5,
        zone,
        after=max(start or now, now),
        until=end,
        count=min(5, wanted.max_runs or 5),
    )
    if not runs:
        raise cron.CronError(
            f"cron {wanted.cron!r} matches no time before vertex.schedule.end, {wanted.end}"
        )
    return Plan(wanted.name or name, _arguments(wanted, settings, start, end), runs)


def create(plan: Plan, file: Path) -> tuple[Schedule, list[Schedule]]:
    """Creates a schedule, in place of those with its name.

    A schedule keeps the pipeline that it was created with, so it is not updated but replaced: the
    new one first, so that a failure leaves the old one in force. If the old ones were paused, so
    is the new one.

    Args:
      plan: From `plan`.
      file: PipelineJob in JSON, as compiled.

    Returns:
      The new schedule, and those that it replaced.
    """
    old = _find(plan.name)
    created = _job(file, plan.name).create_schedule(display_name=plan.name, **plan.arguments)
    if old and all(_state(schedule) == "PAUSED" for schedule in old):
        created.pause()
    replaced = [_describe(schedule) for schedule in old]
    for schedule in old:
        schedule.delete()
    return _describe(aiplatform.PipelineJobSchedule.get(created.resource_name)), replaced


def schedules() -> list[Schedule]:
    """All schedules of the project and region."""
    return [_describe(schedule) for schedule in aiplatform.PipelineJobSchedule.list()]


def pause(name: str) -> None:
    """Stops a schedule from starting runs until it is resumed.

    Raises:
      VertexError: There is no schedule of that name.
    """
    for schedule in _existing(name):
        schedule.pause()


def resume(name: str, *, catch_up: bool) -> None:
    """Lets a paused schedule start runs again.

    Args:
      name: Display name.
      catch_up: Whether to start the runs that were missed.

    Raises:
      VertexError: There is no schedule of that name.
    """
    for schedule in _existing(name):
        # `schedule.resume` takes `catch_up` too, and forgets to send it.
        schedule.api_client.resume_schedule(
            request={"name": schedule.resource_name, "catch_up": catch_up}
        )


def delete(name: str) -> None:
    """Deletes a schedule; runs that it started go on.

    Raises:
      VertexError: There is no schedule of that name.
    """
    for schedule in _existing(name):
        schedule.delete()


def _arguments(
    wanted: ScheduleSettings,
    settings: VertexSettings,
    start: datetime | None,
    end: datetime | None,
) -> dict[str, Any]:
    arguments = {
        "cron": f"TZ={wanted.time_zone} {' '.join(wanted.cron.split())}",
        "start_time": start and start.isoformat(),
        "end_time": end and end.isoformat(),
        "max_run_count": wanted.max_runs or None,
        "max_concurrent_run_count": wanted.max_concurrent_runs,
        "service_account": settings.service_account or None,
        "network": settings.network or None,
    }
    return {key: value for key, value in arguments.items() if value is not None}


def _job(file: Path, name: str) -> aiplatform.PipelineJob:
    return aiplatform.PipelineJob(display_name=name, template_path=str(file))


def _find(name: str) -> list[aiplatform.PipelineJobSchedule]:
    return aiplatform.PipelineJobSchedule.list(filter=f'display_name="{name}"')


def _existing(name: str) -> list[aiplatform.PipelineJobSchedule]:
    found = _find(name)
    if not found:
        known = sorted(schedule.name for schedule in schedules())
        raise VertexError(f"no schedule {name!r}; there are: {', '.join(known) or 'none'}")
    return found


def _state(schedule: aiplatform.PipelineJobSchedule) -> str:
    return schedule.state.name


def _describe(schedule: aiplatform.PipelineJobSchedule) -> Schedule:
    resource = schedule.gca_resource
    return Schedule(
        resource.name,
        resource.display_name,
        resource.state.name,
        resource.cron,
        resource.next_run_time or None,
    )
