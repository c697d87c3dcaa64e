"""Which places TensorFlow's file system, and so TFX, can open. No TensorFlow here."""

_WHY = {
    "minio": "the default of Kubeflow Pipelines",
    "s3": "TensorFlow has no S3 file system any more",
}


class StorageError(ValueError):
    """TFX cannot read or write there."""


def require_openable(uri: str, what: str) -> None:
    """Refuses a place that every node would fail on, minutes later and less clearly.

    Args:
      uri: A path or URI.
      what: What it is, for the message.

    Raises:
      StorageError: TFX cannot open it.
    """
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme == "gs":
        return
    reason = f" ({_WHY[scheme]})" if scheme in _WHY else ""
    raise StorageError(
        f"{what} is {uri!r}: TFX cannot open {scheme}://{reason}; use gs://BUCKET/FOLDER: "
        "set `kubeflow.root` or `vertex.root`, or the pipeline root of the run"
    )


def require_bucket(uri: str, what: str) -> None:
    """Refuses a place that only one container would see.

    Raises:
      StorageError: It is not in a bucket.
    """
    require_openable(uri, what)
    if not uri.startswith("gs://"):
        raise StorageError(
            f"{what} is {uri!r}, a folder of this machine: each node runs in a container of its "
            "own and would not find what the others wrote; use gs://BUCKET/FOLDER"
        )
