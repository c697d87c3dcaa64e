"""The ExampleGen, run alone."""

from tfx.types import standard_artifacts

from components.example_gen import Executor

BEAM = ["--runner=FnApiRunner", "--sdk_container_image=unused"]


def generate(folder, output, beam=BEAM, **properties):
    """Runs the executor; gives its artifact."""
    examples = standard_artifacts.Examples()
    examples.uri = str(output)
    defaults = {
        "input_base": str(folder),
        "fingerprint": "",
        "num_classes": 10,
        "first_label": 0,
        "transposed": 0,
        "eval_examples": 10,
        "train_limit": 0,
        "test_limit": 0,
    }
    context = Executor.Context(beam_pipeline_args=list(beam), tmp_dir=f"{output}-tmp")
    Executor(context).Do({}, {"examples": [examples]}, defaults | properties)
    return examples
