"""The pipeline: settings, wiring, runners and commands."""
