"""Kubeflow Pipelines and Vertex AI: compile, submit, schedule, run locally."""
