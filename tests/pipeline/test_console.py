import io
import logging

from rich.console import Console

from pipeline.console import NodeTable


def test_without_a_terminal_each_node_prints_one_line_when_it_ends():
    stream = io.StringIO()
    with NodeTable(["First", "Second", "Third"], stream) as table:
        table.started("First")
        assert table.running == "First"
        table.finished("First", "done", 1.25, "5 examples")
        table.started("Second")
        table.finished("Second", "cached", 0.5, "")
        table.started("Third")
        table.failed("Third", 2.0)
    assert stream.getvalue().splitlines() == [
        "First              done        1.2 s  5 examples",
        "Second             cached      0.5 s",
        "Third              failed      2.0 s",
    ]
    assert table.running is None


def test_the_table_shows_state_time_and_headline_of_every_node():
    table = NodeTable(["First", "Second"], io.StringIO())
    table.started("First")
    table.finished("First", "done", 12.34, "accuracy [bold]99%")
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    first, second = console.file.getvalue().splitlines()
    assert "First" in first
    assert "done" in first
    assert "12.3 s" in first
    assert "accuracy [bold]99%" in first
    assert "waiting" in second


def test_log_lines_show_beside_the_running_node():
    table = NodeTable(["First", "Second"], io.StringIO())
    logger = logging.getLogger("test_console")
    logger.setLevel(logging.INFO)
    logger.addHandler(table)
    table.started("Second")
    logger.info("epoch %d", 3)
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    first, second = console.file.getvalue().splitlines()
    assert "epoch 3" not in first
    assert "epoch 3" in second


def test_a_damaged_output_is_named_above_the_table():
    stream = io.StringIO()
    with NodeTable(["Make"], stream) as table:
        table.started("Make")
        table.discarded("Make", "/runs/[bold]/text has changed")
        table.finished("Make", "done", 1.0, "")
    assert stream.getvalue().splitlines() == [
        "The cached output of Make is damaged: /runs/[bold]/text has changed. It is made again.",
        "Make               done        1.0 s",
    ]
