"""The TFX components of the pipeline."""
