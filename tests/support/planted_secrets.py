"""Secrets in the environment, and a search for them in what a program wrote."""

import json
from pathlib import Path

MARK = "open-sesame-0451"


def environment(folder: Path) -> dict[str, str]:
    """Variables as on a machine with access to a cloud, and the file that one of them names."""
    key = folder / "key.json"
    key.write_text(json.dumps({"type": "service_account", "private_key": f"key {MARK}"}))
    return {
        "AWS_ACCESS_KEY_ID": f"id {MARK}",
        "AWS_SECRET_ACCESS_KEY": f"key {MARK}",
        "GOOGLE_APPLICATION_CREDENTIALS": str(key),
        "PIP_INDEX_URL": f"https://me:{MARK}@localhost/simple",
        "SOME_TOKEN": MARK,
    }


def files_with_secrets(*folders: Path) -> list[Path]:
    """Files in which a secret is, in no matter which format, unless compressed."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files  # a search of nothing finds nothing
    return [path for path in files if MARK.encode() in path.read_bytes()]
