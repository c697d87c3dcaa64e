import pytest
from pydantic import ValidationError

from components import training_record
from components.training_record import TrainingRecord

RECORD = TrainingRecord(data="d", code="c", trained_at=1.5)
CONFIG = {
    "code": "c",
    "train": {"epochs": 1},
    "optimizer": {"name": "adam"},
    "label_names": ["a", "b"],
}


def test_a_record_comes_back(tmp_path):
    training_record.write(str(tmp_path), RECORD)
    assert training_record.read(str(tmp_path)) == RECORD
    assert (tmp_path / "assets.extra" / "training.json").exists()


def test_a_model_may_have_none(tmp_path):
    assert training_record.read(str(tmp_path)) is None


def test_a_record_may_be_of_a_time_before_the_details(tmp_path):
    (tmp_path / "assets.extra").mkdir()
    old = '{"data": "d", "code": "c", "trained_at": 1.5}'
    (tmp_path / "assets.extra" / "training.json").write_text(old)
    assert training_record.read(str(tmp_path)) == RECORD


def test_a_damaged_record_is_an_error(tmp_path):
    training_record.write(str(tmp_path), RECORD)
    (tmp_path / "assets.extra" / "training.json").write_text('{"data": 1')
    with pytest.raises(ValidationError):
        training_record.read(str(tmp_path))


def shards(folder, **contents):
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [str(folder / "*")]


def test_the_digest_is_of_the_content_wherever_it_lies(tmp_path):
    one = training_record.of_examples(shards(tmp_path / "one", a=b"1", b=b"2"))
    assert one == training_record.of_examples(shards(tmp_path / "two", a=b"1", b=b"2"))
    assert one != training_record.of_examples(shards(tmp_path / "three", a=b"2", b=b"1"))
    assert one != training_record.of_examples(shards(tmp_path / "four", a=b"1"))
    assert one != training_record.of_examples(shards(tmp_path / "five", a=b"12", b=b""))


def test_no_files_are_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no files match"):
        training_record.of_examples([str(tmp_path / "*")])


def test_the_config_counts_where_it_decides_what_comes_out():
    digest = training_record.of_config(CONFIG)
    assert digest == training_record.of_config({**CONFIG, "ai_platform_enable_vertex": True})
    assert digest == training_record.of_config({**CONFIG, "checkpoint_folder": "anywhere"})
    assert digest == training_record.of_config(dict(reversed(CONFIG.items())))
    for key in CONFIG:
        assert digest != training_record.of_config({**CONFIG, key: "other"})
