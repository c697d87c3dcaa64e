"""Serves the last pushed model: a page to draw digits on, and TF Serving's REST interface."""
