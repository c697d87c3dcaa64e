import pytest
import tensorflow as tf

from components.trainer import checkpoints
from components.trainer.checkpoints import Checkpoints, Interrupted
from components.trainer.settings import CheckpointSettings


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(tmp_path, clock):
    """Checkpoints of a variable, which is theirs as `value`."""

    def make(folder=tmp_path / "checkpoints", interrupted=lambda: False, **settings):
        made = Checkpoints(
            str(folder),
            strategy=tf.distribute.get_strategy(),
            settings=CheckpointSettings(**{"minutes": 0, **settings}),
            interrupted=interrupted,
            clock=clock,
        )
        made.value = tf.Variable(0)
        made.step = made.restore(value=made.value)
        return made

    return make


def steps(folder):
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoints"


def test_training_goes_on_from_the_newest(make, caplog):
    caplog.set_level("INFO")
    first = make(steps=1)
    assert first.step == 0 and not caplog.records
    first.value.assign(5)
    first.reached(3)
    second = make()
    assert second.step == 3 and int(second.value.numpy()) == 5
    assert "resumed at step 3 from" in caplog.text


def test_by_steps(make, folder):
    saved = make(steps=10)
    for step in (4, 8, 12, 16, 20, 24):
        saved.reached(step)
    assert steps(folder) == [12, 24]
    resumed = make(steps=10)  # Counted from the step that training goes on from.
    resumed.reached(28)
    assert steps(folder) == [12, 24]
    resumed.reached(34)
    assert steps(folder) == [24, 34]


def test_by_minutes(make, folder, clock):
    saved = make(minutes=0.5)
    for step, seconds in ((4, 29), (8, 31), (12, 60), (16, 61), (20, 62)):
        clock.seconds = seconds
        saved.reached(step)
    assert steps(folder) == [8, 16]


def test_neither(make, folder, clock):
    saved = make()
    clock.seconds = 1e9
    saved.reached(1_000_000)
    assert steps(folder) == []


def test_an_interrupted_one_saves_at_once(make, folder):
    asked = []
    saved = make(interrupted=lambda: bool(asked))
    saved.reached(4)
    asked.append(True)
    with pytest.raises(Interrupted, match="interrupted at step 8; the next run goes on there"):
        saved.reached(8)
    assert steps(folder) == [8]


def test_a_training_that_ended_leaves_nothing(make, folder):
    saved = make(steps=1)
    saved.reached(1)
    saved.clear()
    assert not folder.exists()
    saved.clear()


def test_a_folder_that_cannot_be_written_costs_no_training(make, tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    asked = []
    saved = make(tmp_path / "file" / "folder", interrupted=lambda: bool(asked), steps=1)
    assert saved.step == 0
    saved.reached(1)
    assert "step 1 could not be saved" in caplog.text
    asked.append(True)
    with pytest.raises(Interrupted, match="at step 2; its state could not be saved"):
        saved.reached(2)
    saved.clear()


def test_a_checkpoint_of_something_else_is_an_error(make, folder):
    saved = make(steps=1)
    saved.reached(1)
    other = Checkpoints(
        str(folder), strategy=tf.distribute.get_strategy(), settings=CheckpointSettings()
    )
    with pytest.raises(AssertionError, match="not bound to checkpointed values|Unresolved object"):
        other.restore(another=tf.Variable(0))


def test_the_key_tells_trainings_apart():
    one = checkpoints.key(data="d", code="c", replicas=1)
    assert one == checkpoints.key(replicas=1, code="c", data="d")
    assert one != checkpoints.key(data="d", code="c", replicas=2)
    assert one != checkpoints.key(data="dc", code="", replicas=1)


@pytest.mark.parametrize(("name", "value"), [("minutes", -1), ("steps", -1), ("steps", 0.5)])
def test_settings_out_of_range(name, value):
    with pytest.raises(ValueError, match=name):
        CheckpointSettings(**{name: value})
