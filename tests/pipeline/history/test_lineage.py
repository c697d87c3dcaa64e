import hashlib
import json
import shutil

import pytest

from components import publishing
from pipeline.history import lineage, lineage_tree
from pipeline.history.problem import HistoryError
from pipeline.history.runs import History
from tests.support import histories


@pytest.mark.parametrize("text", ["8", "last", "{root}/../serving/8", "{uri}"])
def test_a_model_is_found_by_version_and_by_folder(history, root, names, text):
    [pushed] = history.find(names.better).executions["Pusher"].outputs["pushed_model"]
    text = text.format(root=root.parent / "runs", uri=pushed.uri).replace("runs/../", "")
    assert lineage.find(history, text) == pushed


def test_a_version_that_nobody_pushed_names_those_there_are(history):
    with pytest.raises(HistoryError, match=r"no run in .* pushed '9'; versions .* pushed: 8, 7$"):
        lineage.find(history, "9")


def test_before_the_first_push_there_is_nothing_to_trace(tmp_path):
    root = histories.Root(tmp_path / "runs")
    root.run("20251130T080000000Z", last=None)
    with pytest.raises(HistoryError, match="has pushed a model yet"):
        lineage.find(History(str(root.folder)), "last")


def test_a_version_made_by_a_rollback_is_the_one_it_was_copied_from(tmp_path):
    root = histories.Root(tmp_path / "runs")
    root.run("20251130T080000000Z", result=histories.pushed(7, 0.98), version=7)
    root.run("20251130T090000000Z", result=histories.pushed(8, 0.99), version=8)
    history = History(str(root.folder))
    for number in (7, 8):
        found = lineage.find(history, str(number))
        for folder in (found.uri, found.properties["pushed_destination"]):
            write_model(tmp_path / folder, trained_at=number)
    served = publishing.rollback(str(tmp_path / "serving"), 7, clock=lambda: 100)
    assert served == 100
    assert lineage.find(history, "100").properties["pushed_version"] == "7"
    assert lineage.find(history, f"{tmp_path}/serving/100").properties["pushed_version"] == "7"


def write_model(folder, trained_at):
    (folder / "assets.extra").mkdir(parents=True)
    (folder / "saved_model.pb").write_text("graph")
    (folder / "assets.extra" / "training.json").write_text(json.dumps({"trained_at": trained_at}))


def test_it_goes_down_to_the_data_through_the_cache(history, names):
    found = lineage.trace(history, lineage.find(history, "8"))
    assert (found.version, found.run) == ("8", names.better)
    model = found.origin.inputs["model"][0]
    assert (model.execution.node, model.run, model.repeated) == ("Trainer", names.better, False)
    examples = model.inputs["examples"][0]
    assert (examples.execution.node, examples.run) == ("MnistExampleGen", names.pushed)
    assert examples.folder == "/data"
    evaluation = found.origin.inputs["evaluation"][0]
    assert evaluation.inputs["model"][0].repeated
    assert {each.execution.node for each in lineage.walk(found.origin)} == set(histories.NODES)


def test_the_facts_are_those_of_the_run_that_trained(history):
    facts = lineage.trace(history, lineage.find(history, "8")).facts
    assert facts["data SHA-256"] == "d" * 64
    assert facts["schema SHA-256"] == hashlib.sha256(histories.SCHEMA.encode()).hexdigest()
    assert facts["code SHA-256"] == "7" * 64
    assert facts["model"] == "cnn"
    assert facts["optimizer"] == "adopt (learning_rate=0.002)"
    assert facts["training"] == "epochs 9, batch_size 128, seed 0, strategy default"
    assert facts["started from"] == "random weights"
    assert facts["test accuracy"] == "99.40%"


def test_the_files_of_the_data_are_listed_while_they_are_there(root, tmp_path):
    from tests.support import idx_folders

    made = lineage._files(str(idx_folders.make(tmp_path / "data", suffix=".gz")))
    assert len(made) == 4 and made[0] == "train-images-idx3-ubyte.gz"
    shutil.rmtree(tmp_path / "data")
    assert lineage._files(str(tmp_path / "data")) == ()


def test_of_many_shards_the_first_are_listed():
    names = tuple(f"shard {number}" for number in range(400))
    assert lineage_tree._listed(names[:8]) == names[:8]
    assert lineage_tree._listed(names) == [*names[:8], "and 392 more"]
