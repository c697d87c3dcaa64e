"""Addresses that hold a secret: settings, logs and compiled files are no place for one."""

import re

# scheme://user:password@host; an @ after the first slash is part of the path.
_CREDENTIALS = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s]*@")
# Where signed addresses have their signature.
_QUERY = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*://[^?#\s]*[?#])\S+")


def has_credentials(text: str) -> bool:
    """Whether there is an address with a user name or a password in a text."""
    return _CREDENTIALS.search(text) is not None


def has_query(text: str) -> bool:
    """Whether there is an address with a query or a fragment in a text."""
    return _QUERY.search(text) is not None


def problem(name: str, text: str, *, may_have_query: bool) -> str | None:
    """Why a setting must not hold a text; None when it may.

    Args:
      name: Of the setting.
      text: Its value, or a part of it.
      may_have_query: Whether an address in it may have a query or a fragment.
    """
    if has_credentials(text) or (not may_have_query and has_query(text)):
        return (
            f"{name} must not hold a user name, a password or a query, got {mask(text)}; "
            "a user name and password go into .netrc"
        )
    return None


def mask(text: str) -> str:
    """The text with `***` for user names, passwords, queries and fragments of addresses."""
    return _QUERY.sub(r"\1***", _CREDENTIALS.sub(r"\1***@", text))
