"""Folders of checkpoints on disk or in a bucket: written whole, checked before they are used.

A checkpoint is a folder `step-<number>`: what `tf.train.Checkpoint` writes, and a manifest with the
SHA-256 of each of these files. It is made under another name and then renamed (in a bucket that is
a copy, file by file), and one that does not agree with its manifest is passed over, so that no
training goes on from half of one.
"""

import hashlib
import json
import logging
import os
import re
import socket

import tensorflow as tf

log = logging.getLogger(__name__)

KEEP = 2  # The newest, and one more should the newest turn out to be damaged.
MANIFEST = "manifest.json"
_STATE = "state"  # Prefix of TensorFlow's files.


def path(folder: str, step: int) -> str:
    """The folder of a checkpoint."""
    return os.path.join(folder, f"step-{step:09d}")


def newest(folder: str) -> int:
    """The step of the newest checkpoint that is whole; 0 when there is none.

    The log names each newer one that is passed over, and why.

    Raises:
      tf.errors.OpError: The folder cannot be read.
    """
    for step in reversed(_steps(folder)):
        problem = _problem(path(folder, step))
        if not problem:
            return step
        log.warning("checkpoint %s is passed over: %s", path(folder, step), problem)
    return 0


def read(state: tf.train.Checkpoint, folder: str, step: int) -> None:
    """Takes the state from a checkpoint.

    Raises:
      tf.errors.NotFoundError: There is no such checkpoint.
      AssertionError: The checkpoint is of something else.
    """
    state.read(os.path.join(path(folder, step), _STATE)).assert_consumed()


def write(state: tf.train.Checkpoint, folder: str, step: int) -> None:
    """Writes a checkpoint, and removes all but it and the newest before it.

    Raises:
      tf.errors.OpError: The folder cannot be written.
    """
    # In containers, two runs of one training at one root have the same process number.
    owner = f"{socket.gethostname()}-{os.getpid()}"
    unfinished, whole = os.path.join(folder, f"unfinished-{owner}"), path(folder, step)
    remove(unfinished)
    tf.io.gfile.makedirs(unfinished)
    state.write(os.path.join(unfinished, _STATE))
    with tf.io.gfile.GFile(os.path.join(unfinished, MANIFEST), "w") as file:
        file.write(json.dumps(_digests(unfinished)))
    remove(whole)  # A damaged one of this step, or one from before the epoch was evaluated.
    tf.io.gfile.rename(unfinished, whole)
    # Of those after this step it is known that they are damaged: training did not go on from them.
    kept = [path(folder, before) for before in _steps(folder) if before <= step][-KEEP:]
    for name in _names(folder):
        if os.path.join(folder, name) not in kept:
            remove(os.path.join(folder, name))


def remove(folder: str) -> None:
    """Removes a folder with all that is in it, if it exists."""
    if tf.io.gfile.exists(folder):
        tf.io.gfile.rmtree(folder)


def _steps(folder: str) -> list[int]:
    matches = [re.fullmatch(r"step-(\d+)", name) for name in _names(folder)]
    return sorted(int(match[1]) for match in matches if match)


def _names(folder: str) -> list[str]:
    try:
        names = tf.io.gfile.listdir(folder)
    except tf.errors.NotFoundError:
        return []
    return [name.rstrip("/") for name in names]  # Object stores list folders with a slash.


def _problem(folder: str) -> str:
    """Why a checkpoint is not to be trusted; empty when it is."""
    try:
        with tf.io.gfile.GFile(os.path.join(folder, MANIFEST)) as file:
            manifest = dict(json.loads(file.read()))
        found = _digests(folder)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    names = {*manifest, *found}
    different = sorted(str(name) for name in names if manifest.get(name) != found.get(name))
    if different or not manifest:
        return f"not what {MANIFEST} says: {', '.join(different) or 'it names no files'}"
    return ""


def _digests(folder: str) -> dict[str, str]:
    """SHA-256 in hex of each file but the manifest."""
    digests = {}
    for name in set(_names(folder)) - {MANIFEST}:
        file = os.path.join(folder, name)
        # TensorFlow writes into a folder first, and only logs it when it cannot remove that.
        if not tf.io.gfile.isdir(file):
            with tf.io.gfile.GFile(file, "rb") as stream:
                digests[name] = hashlib.sha256(stream.read()).hexdigest()
    return digests
