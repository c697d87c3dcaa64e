"""The whole pipeline, cold, beside TFX's own MNIST example on the same stack and data.

    python -m benchmarks.pipeline [--repeats 1]

Prints Markdown tables: the whole runs, and where the time goes. Each repetition runs ours and
the example one after the other.
"""

import ensurepip
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.process import Usage, machine, measure, result, run_pipeline

console = Console(stderr=True)
OURS = "this pipeline, cold, 70,000 images"
CACHED = "the same again, everything cached"
FAST = "this pipeline, `fast` settings, cold"
SMOKE = "this pipeline, `smoke` settings, cold"
EXAMPLE = "TFX's MNIST example, cold"


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Pairs of cold runs.")] = 1,
    example: Annotated[bool, typer.Option(help="Run TFX's example too.")] = True,
) -> None:
    """Measures ours and TFX's example, cold, in pairs."""
    usages: dict[str, list[Usage]] = {title: [] for title in (OURS, CACHED, FAST, SMOKE, EXAMPLE)}
    accuracies: dict[str, list[float]] = {OURS: [], FAST: []}
    nodes: dict[str, list[dict[str, float]]] = {OURS: [], EXAMPLE: []}
    with tempfile.TemporaryDirectory() as folder:
        data = _write_example_data(Path(folder)) if example else None
        for number in range(repeats):
            work = Path(folder) / str(number)
            with console.status(f"pair {number + 1} of {repeats}: ours, cold"):
                usages[OURS].append(run_pipeline(work / "ours"))
                found = result(work / "ours")
                accuracies[OURS].append(found["accuracy"])
                nodes[OURS].append({k: node["seconds"] for k, node in found["nodes"].items()})
            if data:
                with console.status(f"pair {number + 1} of {repeats}: TFX's example, cold"):
                    usages[EXAMPLE].append(_run_example(work / "example", data))
                    nodes[EXAMPLE].append(_executions(work / "example"))
            with console.status(f"pair {number + 1} of {repeats}: ours, otherwise"):
                run_pipeline(work / "ours")  # The first rerun compares with the model just pushed.
                usages[CACHED].append(run_pipeline(work / "ours"))
                usages[SMOKE].append(run_pipeline(work / "smoke", config="smoke"))
                usages[FAST].append(run_pipeline(work / "fast", config="fast"))
                accuracies[FAST].append(result(work / "fast")["accuracy"])
    print(f"{machine()}; medians of {repeats}\n")
    print("| | wall, s | user CPU, s | peak memory, GiB |\n|---|---|---|---|")
    for title, measured in usages.items():
        if measured:
            _row(title, measured)
    for title, values in accuracies.items():
        print(f"\ntest accuracy, {title}: {', '.join(f'{value:.2%}' for value in values)}")
    if example:
        _ratio("wall time", usages, lambda usage: usage.wall_seconds)
        _ratio("user CPU", usages, lambda usage: usage.user_seconds)
    for title, runs in nodes.items():
        if runs:
            _nodes(title, runs, usages[title])


def _write_example_data(folder: Path) -> Path:
    """MNIST as the example wants it: 784 floats from -0.5 to 0.5 in each tf.Example."""
    import tensorflow as tf

    from components import idx, mnist_files
    from pipeline import data
    from pipeline.data_settings import DataSettings

    files = mnist_files.find(str(data.fetch(DataSettings())))
    target = folder / "example.tfrecord"
    with tf.io.TFRecordWriter(str(target)) as writer:
        for pair in (*files.train, *files.test):
            for image, label in zip(idx.read(pair.images), idx.read(pair.labels), strict=True):
                pixels = tf.train.FloatList(value=(image.ravel() / 255 - 0.5).tolist())
                feature = {
                    "image_floats": tf.train.Feature(float_list=pixels),
                    "image_class": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[int(label)])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
    return target


def _run_example(home: Path, data: Path) -> Usage:
    package = resources.files("tfx.examples.mnist")
    (home / "mnist" / "data").mkdir(parents=True)
    shutil.copy(data, home / "mnist" / "data")
    for name in ("mnist_utils_native_keras.py", "mnist_utils_native_keras_base.py"):
        shutil.copy(str(package / name), home / "mnist")
    # TFX installs the example's module with pip, which this environment has no need of.
    [pip] = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    return measure(
        [sys.executable, "-m", "tfx.examples.mnist.mnist_pipeline_native_keras"],
        {"HOME": str(home), "PYTHONPATH": str(pip)},
    )


def _executions(home: Path) -> dict[str, float]:
    """Seconds from the start to the end of each node of the example, from ML Metadata."""
    import ml_metadata
    from ml_metadata.proto import metadata_store_pb2

    [file] = (home / "tfx" / "metadata").rglob("*.db")
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(file)
    store = ml_metadata.MetadataStore(config)
    types = {each.id: each.name.rpartition(".")[2] for each in store.get_execution_types()}
    return {
        types[each.type_id]: (each.last_update_time_since_epoch - each.create_time_since_epoch)
        / 1000
        for each in store.get_executions()
    }


def _ratio(what: str, usages: dict[str, list[Usage]], value: Callable[[Usage], float]) -> None:
    pairs = zip(usages[OURS], usages[EXAMPLE], strict=True)
    ratios = [value(ours) / value(theirs) for ours, theirs in pairs]
    print(
        f"\n{what} of ours, as a share of the example's: {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


def _nodes(title: str, runs: list[dict[str, float]], usages: list[Usage]) -> None:
    """Where the wall time goes; what is left is imports, building the pipeline and the report."""
    seconds = {node: statistics.median(run[node] for run in runs) for node in runs[0]}
    rest = [usage.wall_seconds - sum(run.values()) for usage, run in zip(usages, runs, strict=True)]
    print(f"\n| {title}: node | s |\n|---|---|")
    for node, value in seconds.items():
        print(f"| {node} | {value:.1f} |")
    print(f"| start, end and between | {statistics.median(rest):.1f} |")


def _row(name: str, usages: list[Usage]) -> None:
    wall, user, peak = (
        statistics.median(values)
        for values in (
            [usage.wall_seconds for usage in usages],
            [usage.user_seconds for usage in usages],
            [usage.peak_bytes / 2**30 for usage in usages],
        )
    )
    print(f"| {name} | {wall:.1f} | {user:.1f} | {peak:.2f} |")


if __name__ == "__main__":
    typer.run(main)
