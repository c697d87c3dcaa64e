"""A digest of the code, for cache keys: TFX caches a node by its settings, not by its source."""

import hashlib
from importlib import metadata, resources
from pathlib import Path

# A change of any of these may change a result although no file of ours did.
STACK = ("tfx", "tensorflow", "keras", "numpy")


def of_code(*packages: str, nested: bool = True) -> str:
    """SHA-256 in hex of all Python files of `packages` and of the stack's versions.

    Args:
      packages: Dotted names of packages.
      nested: Include the packages inside them.
    """
    digest = hashlib.sha256()
    for package in sorted(packages):
        folder = Path(str(resources.files(package)))
        for file in sorted(folder.glob("**/*.py" if nested else "*.py")):
            content = file.read_bytes()
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    for distribution in STACK:
        digest.update(f"{distribution}=={metadata.version(distribution)}\0".encode())
    return digest.hexdigest()
