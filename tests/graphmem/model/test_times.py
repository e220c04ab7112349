"""Times are aware, in UTC, and between the two that stand for none."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from graphmem.errors import InvalidInput
from graphmem.model.times import BEGINNING, END, after, happened, moment, period, utc, zone_of

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
FAR_EAST = timezone(timedelta(hours=23, minutes=59))
FAR_WEST = timezone(-timedelta(hours=23, minutes=59))


def test_a_time_of_any_zone_becomes_utc() -> None:
    moment = datetime(2026, 3, 2, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert utc(moment, "since") == datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    assert utc(moment, "since").tzinfo is UTC


def test_a_time_without_a_zone_is_refused_with_an_example() -> None:
    with pytest.raises(InvalidInput, match=r"^since: a time needs its zone, for example 2026"):
        utc(datetime(2026, 3, 2), "since")


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=FAR_EAST),
        datetime.max.replace(tzinfo=FAR_WEST),
        BEGINNING,
        END,
        END + timedelta(hours=1),
        BEGINNING - timedelta(hours=1),
    ],
)
def test_a_time_out_of_range_is_refused(moment: datetime) -> None:
    with pytest.raises(
        InvalidInput, match=r"^until: a time lies between 0001-01-02T.* and 9999-12-30T"
    ):
        utc(moment, "until")


@pytest.mark.parametrize("moment", [BEGINNING + datetime.resolution, END - datetime.resolution])
def test_the_first_and_the_last_time_are_taken(moment: datetime) -> None:
    assert utc(moment, "until") == moment


def test_an_event_may_be_five_minutes_ahead_and_no_more() -> None:
    ahead = NOW + timedelta(minutes=5)
    assert happened(ahead.astimezone(FAR_EAST), "at", NOW) == ahead
    assert happened(BEGINNING + datetime.resolution, "at", NOW) == BEGINNING + datetime.resolution
    later = ahead + datetime.resolution
    with pytest.raises(
        InvalidInput, match=r"^at: 2026-03-02T12:05:00.000001Z .* 2026-03-02T12:00:00Z now"
    ):
        happened(later.astimezone(FAR_WEST), "at", NOW)


@given(
    st.datetimes(timezones=st.just(UTC) | st.just(FAR_EAST) | st.just(FAR_WEST)),
)
def test_any_time_is_the_same_moment_or_refused(moment: datetime) -> None:
    try:
        found = utc(moment, "at")
    except InvalidInput:
        assert not BEGINNING < moment < END
    else:
        assert found == moment
        assert found.utcoffset() == timedelta(0)


def test_a_moment_after_the_last_time_still_exists() -> None:
    # `as_of` asks for what ends after it: there must be a next moment to ask for.
    assert END + datetime.resolution > END


def test_what_follows_is_a_microsecond_later_if_the_clock_was_set_back() -> None:
    earlier = datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert after(earlier, earlier - timedelta(hours=1)) == earlier + timedelta(microseconds=1)
    assert after(earlier, earlier + timedelta(hours=1)) == earlier + timedelta(hours=1)


def test_a_period_is_open_where_a_time_is_none() -> None:
    assert period(None, None) == (BEGINNING, END)
    assert period(NOW.astimezone(FAR_EAST), None) == (NOW, END)
    assert period(None, NOW) == (BEGINNING, NOW)
    assert period(NOW, NOW + datetime.resolution) == (NOW, NOW + datetime.resolution)


def test_a_period_without_a_time_is_refused() -> None:
    for until in (NOW, NOW.astimezone(FAR_WEST), NOW - timedelta(days=1)):
        with pytest.raises(InvalidInput, match=r"^x\.until: expected a time after `since`"):
            period(NOW, until, "x.")


def test_no_zone_is_utc_and_an_unknown_one_is_refused() -> None:
    assert zone_of(None) is UTC
    assert str(zone_of("Europe/Berlin")) == "Europe/Berlin"
    with pytest.raises(InvalidInput, match="Atlantis"):
        zone_of("Atlantis")


def test_a_number_of_seconds_is_a_time_and_one_of_milliseconds_is_refused() -> None:
    assert moment(1_772_355_600, "occurred_at") == datetime(2026, 3, 1, 9, tzinfo=UTC)
    with pytest.raises(InvalidInput):
        moment(1_772_355_600_000, "occurred_at")
