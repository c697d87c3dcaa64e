"""A plain PyTorch loop that trains the default model; a contestant of `benchmarks.loop`.

    PYTHON benchmarks/torch_loop.py

PYTHON is one that has PyTorch and NumPy; nothing else is imported, as TensorFlow and PyTorch need
not share an environment. It writes a line that says what it is. From then on it reads a number of
steps, takes them, and writes the seconds, a line each. It ends with its input.

It is eager PyTorch as it is usually written. What does not change the results is tried at the
start, and the fastest of it is taken: the layout of the images in memory, the implementation of
AdamW, and the number of threads, as several that wait for each other suffer most from other work on
the machine.
"""

import itertools
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

BATCH = 128
TRIAL_STEPS = 40
LAYOUTS = {
    "channels first": torch.contiguous_format,
    "channels last": torch.channels_last,
}
ADAMW = {"foreach": {"foreach": True}, "fused": {"fused": True}}
THREADS = sorted({1, torch.get_num_threads()})  # By default, one on each core.


class Cnn(nn.Module):
    """The model `cnn` of components/trainer/models.py, layer by layer."""

    def __init__(self, layout: torch.memory_format):
        super().__init__()
        self._layout = layout
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.Linear(576, 128),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(128, 10),
        ).to(memory_format=layout)

    def forward(self, image: torch.Tensor) -> torch.Tensor:  # uint8 [batch, 28, 28]
        pixels = shifted(image)[:, None].float() / 255
        return self.layers(pixels.contiguous(memory_format=self._layout))


def shifted(image: torch.Tensor) -> torch.Tensor:
    """Each image moved by up to a pixel in each direction."""
    corner = torch.randint(0, 3, [len(image), 2])
    padded = nn.functional.pad(image, [1, 1, 1, 1])
    rows = corner[:, :1] + torch.arange(28)
    columns = corner[:, 1:] + torch.arange(28)
    return padded[torch.arange(len(image))[:, None, None], rows[:, :, None], columns[:, None]]


def create(layout: str, adamw: str, threads: int) -> Callable[[int], None]:
    """A fresh training; called with a number of steps, it takes them."""
    torch.manual_seed(0)
    model = Cnn(LAYOUTS[layout]).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, eps=1e-7, weight_decay=0.004, **ADAMW[adamw]
    )
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, [100, BATCH, 28, 28], np.uint8))
    labels = torch.from_numpy(rng.integers(0, 10, [100, BATCH]))
    batches = itertools.cycle(zip(images, labels, strict=True))

    def train(steps: int) -> None:
        torch.set_num_threads(threads)
        loss_sum, correct = torch.zeros(()), torch.zeros((), dtype=torch.int64)
        for image, label in itertools.islice(batches, steps):
            optimizer.zero_grad(set_to_none=True)
            logits = model(image)
            loss = nn.functional.cross_entropy(logits, label)
            loss.backward()
            optimizer.step()
            loss_sum += loss.detach()
            correct += (logits.argmax(1) == label).sum()

    return train


def seconds(train: Callable[[int], None], steps: int) -> float:
    """How long so many steps take."""
    start = time.perf_counter()
    train(steps)
    return time.perf_counter() - start


def main() -> None:
    trainings = {names: create(*names) for names in itertools.product(LAYOUTS, ADAMW, THREADS)}
    for train in trainings.values():
        train(TRIAL_STEPS // 2)
    best = min(trainings, key=lambda names: seconds(trainings[names], TRIAL_STEPS))
    version, (layout, adamw, threads) = torch.__version__.partition("+")[0], best
    print(f"PyTorch {version} ({layout}, {adamw} AdamW, threads: {threads})", flush=True)
    for line in sys.stdin:
        print(seconds(trainings[best], int(line)), flush=True)


if __name__ == "__main__":
    main()
