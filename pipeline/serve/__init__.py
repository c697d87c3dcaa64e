"""Serves the last pushed model: a page to draw on, and TF Serving's REST interface."""
