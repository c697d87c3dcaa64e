"""The table behind test_all.py: what is to be known of each optimizer."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

Gradients = Callable[[list[np.ndarray]], list[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One optimizer.

    Attributes:
      name: In the registry.
      arguments: For each argument a value that is not its default.
      bad: Arguments with values that must be refused.
      after_first_step: A weight of 1.0 whose gradient is 0.5, after one step with the defaults.
      reference: The method once more, in numpy and straight from the paper: a function of
        `gradients`, the weights, the number of steps and the arguments, which gives the weights
        after each step.
    """

    name: str
    arguments: dict[str, Any]
    bad: list[tuple[str, Any]]
    after_first_step: float
    reference: Callable[..., list[list[np.ndarray]]]


def sgd(gradients: Gradients, w, steps, *, learning_rate, momentum, nesterov, weight_decay):
    """With momentum."""
    v = [np.zeros_like(each) for each in w]
    path = []
    for _ in range(steps):
        g = gradients(w)
        v = [momentum * vi + gi for vi, gi in zip(v, g, strict=True)]
        d = [gi + momentum * vi for gi, vi in zip(g, v, strict=True)] if nesterov else v
        w = [wi - learning_rate * (di + weight_decay * wi) for wi, di in zip(w, d, strict=True)]
        path.append(w)
    return path


def schedule_free_adamw(
    gradients: Gradients,
    w,
    steps,
    *,
    learning_rate,
    beta_1,
    beta_2,
    epsilon,
    warmup_steps,
    r,
    weight_lr_power,
    weight_decay,
):
    """arXiv:2405.15682, Algorithm 1; gives y."""
    x, y, z = list(w), list(w), list(w)
    v = [np.zeros_like(each) for each in w]
    total, largest = 0.0, 0.0
    path = []
    for t in range(1, steps + 1):
        rate = learning_rate * min(1, t / warmup_steps)
        largest = max(largest, rate)
        weight = t**r * largest**weight_lr_power
        total += weight
        g = gradients(y)
        for i in range(len(w)):
            v[i] = beta_2 * v[i] + (1 - beta_2) * g[i] ** 2
            step = g[i] / (np.sqrt(v[i] / (1 - beta_2**t)) + epsilon)
            z[i] = z[i] - rate * step - rate * weight_decay * y[i]
            x[i] = (1 - weight / total) * x[i] + weight / total * z[i]
            y[i] = (1 - beta_1) * z[i] + beta_1 * x[i]
        path.append(list(y))
    return path


def adabelief(
    gradients: Gradients, w, steps, *, learning_rate, beta_1, beta_2, epsilon, weight_decay
):
    """arXiv:2010.07468, Algorithm 2."""
    w = list(w)
    m = [np.zeros_like(each) for each in w]
    s = [np.zeros_like(each) for each in w]
    path = []
    for t in range(1, steps + 1):
        for i, g in enumerate(gradients(w)):
            m[i] = beta_1 * m[i] + (1 - beta_1) * g
            s[i] = beta_2 * s[i] + (1 - beta_2) * (g - m[i]) ** 2 + epsilon
            step = (m[i] / (1 - beta_1**t)) / (np.sqrt(s[i] / (1 - beta_2**t)) + epsilon)
            w[i] = w[i] - learning_rate * (step + weight_decay * w[i])
        path.append(list(w))
    return path


def adopt(
    gradients: Gradients, w, steps, *, learning_rate, beta_1, beta_2, epsilon, clip, weight_decay
):
    """arXiv:2411.02853, Algorithm 2; without clipping, Algorithm 1."""
    w = list(w)
    m = [np.zeros_like(each) for each in w]
    v = [np.zeros_like(each) for each in w]
    path = []
    for t in range(steps):
        for i, g in enumerate(gradients(w)):
            if t == 0:
                v[i] = g**2
                w[i] = w[i] - learning_rate * weight_decay * w[i]
                continue
            divided = g / np.maximum(np.sqrt(v[i]), epsilon)
            if clip:
                divided = np.clip(divided, -(t**0.25), t**0.25)
            m[i] = beta_1 * m[i] + (1 - beta_1) * divided
            w[i] = w[i] - learning_rate * (m[i] + weight_decay * w[i])
            v[i] = beta_2 * v[i] + (1 - beta_2) * g**2
        path.append(list(w))
    return path


def prodigy(
    gradients: Gradients,
    w,
    steps,
    *,
    learning_rate,
    beta_1,
    beta_2,
    epsilon,
    d_0,
    d_coefficient,
    weight_decay,
):
    """arXiv:2306.06101, Algorithm 4, with Adam's bias correction in gamma."""
    w, start = list(w), list(w)
    m = [np.zeros_like(each) for each in w]
    v = [np.zeros_like(each) for each in w]
    s = [np.zeros_like(each) for each in w]
    r, d, root = 0.0, d_0, np.sqrt(beta_2)
    path = []
    for t in range(1, steps + 1):
        gamma = learning_rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        g = gradients(w)
        product = sum(np.sum(gi * (xi - wi)) for gi, xi, wi in zip(g, start, w, strict=True))
        r = root * r + (1 - root) * gamma * d**2 * product
        for i in range(len(w)):
            m[i] = beta_1 * m[i] + (1 - beta_1) * d * g[i]
            v[i] = beta_2 * v[i] + (1 - beta_2) * (d * g[i]) ** 2
            s[i] = root * s[i] + (1 - root) * gamma * d**2 * g[i]
        estimate = d_coefficient * r / sum(np.abs(si).sum() for si in s)
        next_d = max(d, estimate)
        for i in range(len(w)):
            step = m[i] / (np.sqrt(v[i]) + next_d * epsilon)
            w[i] = w[i] - gamma * d * (step + weight_decay * w[i])
        d = next_d
        path.append(list(w))
    return path


def lars(
    gradients: Gradients, w, steps, *, learning_rate, momentum, trust_coefficient, weight_decay
):
    """arXiv:1708.03888, Algorithm 1."""
    w = list(w)
    v = [np.zeros_like(each) for each in w]
    path = []
    for _ in range(steps):
        for i, g in enumerate(gradients(w)):
            norm = np.linalg.norm(w[i])
            local = trust_coefficient * norm / (np.linalg.norm(g) + weight_decay * norm)
            v[i] = momentum * v[i] + learning_rate * local * (g + weight_decay * w[i])
            w[i] = w[i] - v[i]
        path.append(list(w))
    return path


_COMMON = [
    ("learning_rate", -0.1),
    ("learning_rate", float("nan")),
    ("learning_rate", "fast"),
    ("weight_decay", -1e-4),
    ("weight_decay_exclude", "bias"),
    ("weight_decay_exclude", ["("]),
]
_ADAM = [("beta_1", 1.0), ("beta_2", 1.0), ("beta_2", -0.1), ("epsilon", 0.0)]

CASES = [
    Case(
        name="schedule_free_adamw",
        arguments={
            "learning_rate": 0.02,
            "beta_1": 0.8,
            "beta_2": 0.99,
            "epsilon": 1e-6,
            "warmup_steps": 7.0,
            "r": 0.5,
            "weight_lr_power": 1.5,
            "weight_decay": 0.01,
        },
        bad=[
            *_COMMON,
            *_ADAM,
            ("beta_1", 0.0),
            ("warmup_steps", -1),
            ("r", -0.5),
            ("weight_lr_power", -1),
        ],
        after_first_step=1 - 0.005 / 200,
        reference=schedule_free_adamw,
    ),
    Case(
        name="adabelief",
        arguments={
            "learning_rate": 0.01,
            "beta_1": 0.8,
            "beta_2": 0.99,
            "epsilon": 1e-8,
            "weight_decay": 0.01,
        },
        bad=[*_COMMON, *_ADAM],
        after_first_step=1 - 0.001 * 0.5 / 0.45,
        reference=adabelief,
    ),
    Case(
        name="adopt",
        arguments={
            "learning_rate": 0.01,
            "beta_1": 0.8,
            "beta_2": 0.99,
            "epsilon": 1e-4,
            "clip": False,
            "weight_decay": 0.01,
        },
        bad=[*_COMMON, *_ADAM, ("clip", "yes")],
        after_first_step=1.0,
        reference=adopt,
    ),
    Case(
        name="prodigy",
        arguments={
            "learning_rate": 0.5,
            "beta_1": 0.8,
            "beta_2": 0.99,
            "epsilon": 1e-6,
            "d_0": 1e-4,
            "d_coefficient": 0.7,
            "weight_decay": 0.01,
        },
        bad=[*_COMMON, *_ADAM, ("beta_2", 0.0), ("d_0", 0.0), ("d_coefficient", 0.0)],
        after_first_step=1 - 1e-6,
        reference=prodigy,
    ),
    Case(
        name="lars",
        arguments={
            "learning_rate": 2.0,
            "momentum": 0.8,
            "trust_coefficient": 0.02,
            "weight_decay": 0.01,
        },
        bad=[
            *_COMMON,
            ("momentum", 1.0),
            ("trust_coefficient", 0.0),
            ("trust_exclude", "bias"),
        ],
        after_first_step=0.999,
        reference=lars,
    ),
    Case(
        name="sgd",
        arguments={
            "learning_rate": 0.05,
            "momentum": 0.8,
            "nesterov": False,
            "weight_decay": 0.01,
        },
        bad=[*_COMMON, ("momentum", 1.0), ("momentum", -0.1), ("nesterov", 1)],
        after_first_step=0.9905,
        reference=sgd,
    ),
]
