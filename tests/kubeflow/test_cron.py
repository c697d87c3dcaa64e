from datetime import datetime, timezone

import pytest

from kubeflow import cron

START = datetime(2030, 1, 1, tzinfo=timezone.utc)


def runs(expression, fields=5, zone="UTC", **arguments):
    times = cron.next_runs(expression, fields, cron.zone(zone), after=START, **arguments)
    return [time.isoformat(timespec="seconds") for time in times]


def test_next_runs_in_a_time_zone():
    assert runs("0 3 * * 1", zone="Europe/Paris", count=2) == [
        "2030-01-07T03:00:00+01:00",
        "2030-01-14T03:00:00+01:00",
    ]


def test_the_offset_follows_summer_time():
    times = runs("0 3 1 * *", zone="Europe/Paris", count=5)
    assert [time[-6:] for time in times] == ["+01:00", "+01:00", "+01:00", "+02:00", "+02:00"]
    assert all(time[11:16] == "03:00" for time in times)


def test_six_fields_start_with_seconds():
    assert runs("30 15 10 * * *", fields=6, count=1) == ["2030-01-01T10:15:30+00:00"]


def test_question_mark_is_any_on_kubeflow():
    # The example of the client's own documentation: 9 o'clock on workdays (2030-01-01: Tuesday).
    assert runs("0 0 9 ? * 1-5", fields=6, count=4) == [
        f"2030-01-0{day}T09:00:00+00:00" for day in (1, 2, 3, 4)
    ]


def test_until_ends_the_list():
    end = datetime(2030, 1, 3, tzinfo=timezone.utc)
    assert runs("0 12 * * *", until=end) == [
        "2030-01-01T12:00:00+00:00",
        "2030-01-02T12:00:00+00:00",
    ]


@pytest.mark.parametrize("expression", ["0 3 * *", "0 0 3 * * 1", "", "@daily"])
def test_vertex_wants_five_fields(expression):
    with pytest.raises(cron.CronError, match=r"fields, 5 are needed \(minute, hour"):
        cron.check(expression, 5)


@pytest.mark.parametrize("expression", ["0 3 * * 1", "0 0 0 3 * * 1"])
def test_kubeflow_wants_six_fields(expression):
    with pytest.raises(cron.CronError, match=r"fields, 6 are needed \(second, minute"):
        cron.check(expression, 6)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("60 3 * * *", "bad minute"),
        ("0 24 * * *", "bad hour"),
        ("0 3 32 * *", "bad day-of-month"),
        ("0 3 * 13 *", "bad month"),
        ("0 3 * * 8", "bad day-of-week"),
        ("a 3 * * *", "bad minute"),
        ("*/0 3 * * *", "bad minute"),
        ("0 3 30 2 *", "bad day-of-month"),
        ("0 3 L * *", "L, W and #"),
        ("0 3 * * 1#2", "L, W and #"),
        ("0 3 ? * *", "bad day-of-month"),
    ],
)
def test_bad_fields_are_named(expression, message):
    with pytest.raises(cron.CronError, match=message):
        cron.check(expression, 5)


def test_kubeflow_has_no_seventh_day():
    with pytest.raises(cron.CronError, match=r"0 \(Sunday\) to 6"):
        cron.check("0 0 3 * * 7", 6)
    cron.check("0 3 * * 7", 5)


@pytest.mark.parametrize("expression", ["0 3 * JUL WED", "0 3 * * mon-fri", "0 3 1,15 * SUN"])
def test_names_are_no_mistake(expression):
    cron.check(expression, 5)


def test_unknown_time_zone_names_the_nearest():
    with pytest.raises(
        cron.CronError, match=r"'Europe/Pariss' is unknown; did you mean Europe/Paris"
    ):
        cron.zone("Europe/Pariss")
    with pytest.raises(cron.CronError, match="IANA"):
        cron.zone("../etc/passwd")


def test_moments():
    assert cron.moment("", "end") is None
    assert cron.moment("2030-01-31T03:00:00Z", "end").utcoffset().total_seconds() == 0
    for text in ("2030-01-31T03:00:00", "tomorrow", "2030-13-01T00:00:00Z"):
        with pytest.raises(cron.CronError, match=f"end must be.*{text}"):
            cron.moment(text, "end")
