from datetime import datetime, timedelta, timezone

import pytest

from pipeline.history import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.04, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (75.5, "1 min 16 s"),
        (3599.6, "1 h 00 min"),
        (7384, "2 h 03 min"),
    ],
)
def test_durations(seconds, text):
    assert words.took(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-100_000, "just now"),
        (30, "just now"),
        (60, "1 min ago"),
        (7_100, "1 hour ago"),
        (7_200, "2 hours ago"),
        (86_400 * 3, "3 days ago"),
    ],
)
def test_ages(seconds, text):
    assert words.ago(datetime.now(timezone.utc) - timedelta(seconds=seconds + 0.5)) == text
