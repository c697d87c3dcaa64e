import pytest
from ml_metadata.proto.metadata_store_pb2 import Execution

from pipeline.history.problem import HistoryError
from pipeline.history.store import Store
from tests.support import histories


@pytest.fixture(scope="module")
def store(root):
    return Store(root / "metadata.sqlite")


def test_a_run_s_nodes_come_in_order_with_their_ends(store, names):
    executions = store.executions(names.better)
    assert [each.node for each in executions] == list(histories.NODES)
    assert [each.state for each in executions] == ["cached"] * 3 + ["done"] * 3
    evaluator = executions[4]
    assert list(evaluator.inputs) == ["model", "examples", "baseline_model"]
    assert evaluator.inputs["model"] == executions[3].outputs["model"]
    [pushed] = executions[5].outputs["pushed_model"]
    assert pushed.kind == "PushedModel"
    assert pushed.properties["pushed_version"] == "8"
    assert pushed.uri.endswith(f"artifacts/Pusher/pushed_model/{executions[5].id}")


def test_a_node_that_did_not_end_has_no_time(store, names):
    *_, evaluator = store.executions(names.killed)
    assert (evaluator.state, evaluator.seconds, evaluator.outputs) == ("running", None, {})


def test_an_unknown_run_has_no_nodes(store):
    assert store.executions("20000101T000000000Z") == []


def test_the_maker_of_an_artifact_is_no_node_that_found_it_in_the_cache(store, names):
    [schema] = store.executions(names.better)[0].outputs["schema"]
    maker = store.maker(schema)
    assert maker.state == "done"
    assert store.run_of(maker) == names.pushed


@pytest.mark.parametrize("content", [b"", b"this is no database", b"SQLite format 3\0"])
def test_what_is_no_database_is_one_clear_error_and_stays_as_it_is(tmp_path, content):
    path = tmp_path / "metadata.sqlite"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=r"metadata\.sqlite cannot be read as ML Metadata: \w"):
        Store(path)
    assert path.read_bytes() == content


def test_nothing_is_made_where_nothing_is(tmp_path):
    with pytest.raises(HistoryError, match="unable to open database file"):
        Store(tmp_path / "metadata.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_reading_changes_nothing(tmp_path):
    root = histories.Root(tmp_path / "runs")
    root.run("20251130T080000000Z", last=("Trainer", Execution.RUNNING))
    path = root.folder / "metadata.sqlite"
    path.chmod(0o444)
    before = path.read_bytes()
    Store(path).executions("20251130T080000000Z")
    assert path.read_bytes() == before


def test_it_is_read_while_a_run_holds_and_writes_it(tmp_path):
    root = histories.Root(tmp_path / "runs")
    root.run("20251130T080000000Z")
    store = Store(root.folder / "metadata.sqlite")
    root.run("20251130T090000000Z", last=("Trainer", Execution.RUNNING))
    assert [each.state for each in store.executions("20251130T090000000Z")][-1] == "running"
    assert store.runs() == ["20251130T080000000Z", "20251130T090000000Z"]
