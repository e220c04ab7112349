from datetime import UTC, datetime, timedelta

import pytest

from graphmem.cli.showing import (
    NARROWEST,
    bar,
    branches,
    cells,
    cut,
    drawable,
    lane,
    stacked,
    width,
)

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("part", "drawn"),
    [(0, ""), (0.001, "▏"), (0.5, "██"), (0.5625, "██▎"), (1, "████"), (7, "████"), (-1, "")],
)
def test_a_bar_is_drawn_in_eighths_and_never_longer_than_the_whole(part: float, drawn: str) -> None:
    assert bar(part, 1, 4) == drawn


def test_nothing_of_nothing_is_no_bar() -> None:
    assert bar(3, 0, 10) == ""
    assert stacked([(3, "█")], 0, 4) == "░░░░"


def test_stacked_parts_fill_exactly_the_length() -> None:
    assert stacked([(50, "█"), (25, "▓"), (10, "▒")], 100, 20) == "██████████▓▓▓▓▓▒▒░░░"
    assert stacked([(90, "█"), (90, "▓")], 100, 10) == "█████████▓"
    assert stacked([(1, "█")], 1_000, 4) == "▏░░░"  # little, but seen


def test_a_lane_marks_its_times_between_the_first_and_the_last() -> None:
    last = START + timedelta(days=10)
    assert lane([START, START + timedelta(days=5), last], START, last, 11) == "●────●────●"
    assert lane([START], START, START, 3) == "●──"


def test_a_tree_is_drawn_with_its_branches() -> None:
    below = {"root": ["a", "b"], "a": ["c"], "b": [], "c": []}
    drawn = [(first, further) for first, further, _ in branches("root", lambda one: below[one])]
    assert drawn == [("", "│  "), ("├─ ", "│  │  "), ("│  └─ ", "│        "), ("└─ ", "      ")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("a\x1b[31m\nb\u202ec", "a [31m b c"),
        ("0123456789abc", "012345678…"),
        ("日本語日本語", "日本語日…"),
    ],
)
def test_a_text_is_cut_to_the_columns_that_it_takes_without_control_characters(
    text: str, shown: str
) -> None:
    assert cut(text, 10) == shown
    assert cells(cut(text, 10)) <= 10


def test_a_narrow_terminal_gets_narrow_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert width() == 40
    monkeypatch.setenv("COLUMNS", "5")
    assert width() == NARROWEST
    monkeypatch.setenv("COLUMNS", "500")
    assert width() == 100


def test_an_output_that_shows_ascii_only_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr("sys.stdout", Ascii())
    assert drawable("├─ ██▎▓▒░ ●") == "|- ###=+. o"
