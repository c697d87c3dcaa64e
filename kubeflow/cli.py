"""Commands for Kubeflow and Vertex AI. Heavy modules are imported inside them."""

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.options import Config, Set
from pipeline.options import settings as settings_of

app = typer.Typer()
schedule = typer.Typer(
    help="Recurring runs on Vertex AI: create, list, pause, resume, delete.", no_args_is_help=True
)
app.add_typer(schedule, name="schedule")


class Platform(str, Enum):
    """The platforms, as an option's values."""

    kubeflow = "kubeflow"
    vertex = "vertex"


Target = Annotated[Platform, typer.Option("--target", help="The platform.")]
Name = Annotated[str, typer.Argument(help="Display name of the schedule.")]


@app.command("compile")
def compile_command(
    target: Target,
    config: Config = None,
    overrides: Set = None,
    output: Annotated[
        Path | None, typer.Option(help="The file; default: compiled/NAME.yaml or .json.")
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what would change in the file; write nothing.")
    ] = False,
) -> None:
    """Compile the pipeline for a platform. Needs no network."""
    with _plain_errors():
        settings = settings_of(config, overrides)
        from kubeflow import compile as compiler

        compiled = compiler.compile_project(settings, target.value)
        path = output or Path("compiled") / f"{settings.name}{compiled.suffix}"
        if diff:
            typer.echo(compiler.diff(compiled, path), nl=False)
            return
        changed = compiler.write(compiled, path)
        typer.echo(f"{path}{'' if changed else ' (unchanged)'}")


@app.command()
def launch(
    file: Annotated[Path, typer.Argument(help="A compiled file.")],
    rules: Annotated[Platform, typer.Option(help="The backend whose rules apply.")],
    root: Annotated[
        Path | None, typer.Option(help="Folder for artifacts instead of the file's root.")
    ] = None,
    logs: Annotated[Path, typer.Option(help="Folder for logs.")] = Path("runs/launch"),
    parallel: Annotated[int, typer.Option(min=1, help="Most tasks at a time.")] = 2,
) -> None:
    """Run a compiled file on this machine, task by task, as the platform would.

    Exit codes: 0 all tasks ended well; 1 a task failed; 2 the platform would refuse the file.
    """
    with _plain_errors():
        from kubeflow import document, launcher
        from kubeflow.rules import RULES, Place

        loaded = document.load(file, rules.value)
        run = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%fZ")
        place = Place(
            str(root.resolve()) if root else loaded.root, loaded.name, run, logs.resolve() / run
        )
        try:
            results = launcher.launch(
                loaded, RULES[rules.value], place, _Lines(), parallel=parallel
            )
        except launcher.TaskFailedError as error:
            typer.secho(str(error), fg=typer.colors.RED, err=True)
            raise typer.Exit(1) from None
    skipped = sum(result.state == "skipped" for result in results.values())
    typer.echo(f"{len(results) - skipped} tasks done, {skipped} skipped; logs: {place.scratch}")


@app.command()
def submit(
    target: Target,
    config: Config = None,
    overrides: Set = None,
    host: Annotated[
        str | None, typer.Option(help="URL of the Kubeflow Pipelines API; sets kubeflow.host.")
    ] = None,
    recurring: Annotated[
        bool,
        typer.Option("--recurring", help="Kubeflow: run at each time of kubeflow.cron instead."),
    ] = False,
) -> None:
    """Compile the pipeline and start it on a platform."""
    overrides = [*(overrides or ()), *([f"kubeflow.host={json.dumps(host)}"] if host else ())]
    with _plain_errors():
        settings = settings_of(config, overrides)
        with _compiled(settings, target) as file:
            if target is Platform.vertex:
                if recurring:
                    raise ValueError(
                        "--recurring is for Kubeflow; use the command `schedule create`"
                    )
                from kubeflow import vertex

                vertex.connect(settings.vertex)
                typer.echo(vertex.submit(file, settings.name, settings.vertex))
                return
            from kubeflow import cluster

            if recurring:
                _echo_times(cluster.check_cron(settings.kubeflow, _now()))
            client = cluster.connect(settings.kubeflow)
            start = cluster.recur if recurring else cluster.submit
            typer.echo(start(client, file, settings.name, settings.kubeflow))


@schedule.command("create")
def schedule_create(
    config: Config = None,
    overrides: Set = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the request and the next runs; send nothing.")
    ] = False,
) -> None:
    """Create the schedule of the settings, in place of one with the same name."""
    with _plain_errors():
        settings = settings_of(config, overrides)
        from kubeflow import vertex

        plan = vertex.plan(settings.name, settings.vertex, _now())
        if dry_run:
            typer.echo(json.dumps({"display_name": plan.name, **plan.arguments}, indent=2))
            _echo_times(plan.next_runs)
            return
        vertex.connect(settings.vertex)
        with _compiled(settings, Platform.vertex) as file:
            created, replaced = vertex.create(plan, file)
        for old in replaced:
            typer.echo(f"replaced {old.resource}")
        typer.echo(f"{created.resource} {created.state}")
        _echo_times(plan.next_runs)


@schedule.command("list")
def schedule_list(config: Config = None, overrides: Set = None) -> None:
    """List the schedules."""
    with _vertex(config, overrides) as (vertex, _):
        for entry in vertex.schedules():
            due = entry.next_run.isoformat(timespec="minutes") if entry.next_run else "-"
            typer.echo(f"{entry.name}  {entry.state}  {entry.cron}  next {due}")


@schedule.command("pause")
def schedule_pause(name: Name, config: Config = None, overrides: Set = None) -> None:
    """Pause a schedule."""
    with _vertex(config, overrides) as (vertex, _):
        vertex.pause(name)


@schedule.command("resume")
def schedule_resume(name: Name, config: Config = None, overrides: Set = None) -> None:
    """Resume a schedule; vertex.schedule.catch_up says whether missed runs are made up for."""
    with _vertex(config, overrides) as (vertex, settings):
        vertex.resume(name, catch_up=settings.vertex.schedule.catch_up)


@schedule.command("delete")
def schedule_delete(name: Name, config: Config = None, overrides: Set = None) -> None:
    """Delete a schedule; runs that it started go on."""
    with _vertex(config, overrides) as (vertex, _):
        vertex.delete(name)


class _Lines:
    """A line for each task that starts or ends."""

    def started(self, task: str) -> None:
        typer.echo(f"{task} started")

    def finished(self, task: str, state: str, seconds: float) -> None:
        typer.echo(f"{task} {state} {seconds:.1f} s")


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _echo_times(times: list[datetime]) -> None:
    typer.echo("next runs:")
    for time in times:
        typer.echo(f"  {time.isoformat(timespec='minutes')}")


@contextlib.contextmanager
def _compiled(settings, target: Platform) -> Iterator[Path]:
    """The pipeline in a temporary file, after checking that every node can reach its places."""
    from kubeflow import compile as compiler
    from kubeflow import targets

    targets.require_remote(settings, target.value)
    compiled = compiler.compile_project(settings, target.value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{settings.name}{compiled.suffix}"
        compiler.write(compiled, path)
        yield path


@contextlib.contextmanager
def _vertex(config: str | None, overrides: list[str] | None) -> Iterator[tuple]:
    with _plain_errors():
        settings = settings_of(config, overrides)
        from kubeflow import vertex

        vertex.connect(settings.vertex)
        yield vertex, settings


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """An error in one paragraph; exit code 2 for what the user can set, 1 for the rest."""
    # What TensorFlow and the clients say when they are imported is no part of any answer.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.filterwarnings("ignore", category=FutureWarning)
    try:
        yield
    except typer.Exit:
        raise
    except (ValueError, OSError, RuntimeError) as error:
        _fail(error, 2 if isinstance(error, ValueError) else 1)
    except Exception as error:  # the clients' own, which are imported with the clients only
        if type(error).__module__.partition(".")[0] not in ("google", "kfp_server_api", "urllib3"):
            raise
        _fail(error, 1)


def _fail(error: Exception, code: int) -> None:
    typer.secho(str(error) or type(error).__name__, fg=typer.colors.RED, err=True)
    raise typer.Exit(code) from None
