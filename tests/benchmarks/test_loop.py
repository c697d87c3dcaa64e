"""PyTorch as a contestant, without training."""

import sys
from pathlib import Path

import keras
import pytest

from benchmarks import loop
from components.trainer import models


@pytest.fixture
def other_python(tmp_path):
    """Makes an executable that runs a script in place of the one it is given."""

    def make(script: str) -> Path:
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable} -S\n{script}")
        path.chmod(0o755)
        return path

    return make


def test_pytorch_says_what_it_is_and_takes_the_steps_it_is_told(other_python):
    script = "import sys\nprint('PyTorch 9', flush=True)\n"
    script += "for line in sys.stdin:\n    print(int(line) / 4, flush=True)\n"
    contestant = loop.TorchContestant(other_python(script))
    assert contestant.name == "PyTorch 9"
    assert contestant.seconds(2) == 0.5
    contestant.end()


@pytest.mark.parametrize("script", ["", "print('PyTorch 9')", "import no_such_module"])
def test_a_python_without_pytorch_ends_the_comparison(other_python, script):
    with pytest.raises(RuntimeError, match="the process of PyTorch has died"):
        loop.TorchContestant(other_python(script)).seconds(1)


def test_pytorch_trains_the_same_network():
    """Its layers are written a second time, so what they add up to is compared."""
    source = Path(loop.__file__).with_name("torch_loop.py").read_text(encoding="utf-8")
    model = models.create("cnn")
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    channels = 1
    for layer in convolutions:
        assert f"nn.Conv2d({channels}, {layer.filters}, {layer.kernel_size[0]})" in source
        channels = layer.filters
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dense):
            rows, units = layer.kernel.shape
            assert f"nn.Linear({rows}, {units})" in source
        if isinstance(layer, keras.layers.Dropout):
            assert f"nn.Dropout({layer.rate})" in source
