"""`python -m pipeline`."""

from pipeline.cli import app

app(prog_name="python -m pipeline")
