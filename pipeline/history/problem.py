"""The error of this package."""


class HistoryError(ValueError):
    """What was asked for is not there, or cannot be read; the message says what to do."""
