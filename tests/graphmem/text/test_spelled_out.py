"""Short forms are taken where a text spells them out, and nowhere else."""

import time

import pytest

from graphmem.text.aliases import MOST, SpelledOut, spelled_out


@pytest.mark.parametrize(
    ("text", "short", "form"),
    [
        ("We run Continuous Integration (CI) daily.", "CI", "Continuous Integration"),
        ("CI (Continuous Integration) runs daily.", "CI", "Continuous Integration"),
        ("we agreed on service level objectives (SLOs)", "SLOs", "service level objectives"),
        ("the Department of Justice (DoJ)", "DoJ", "Department of Justice"),
        ("a new Point of Sale (POS)", "POS", "Point of Sale"),
        ("Our Wide-Area Network (WAN) is down", "WAN", "Wide-Area Network"),
        ("It broke. Root Cause Analysis (RCA) follows", "RCA", "Root Cause Analysis"),
        ("US (the United States)", "US", "United States"),
    ],
)
def test_it_is_taken_with_what_it_stands_for(text: str, short: str, form: str) -> None:
    assert spelled_out(text) == [SpelledOut(short, form)]


@pytest.mark.parametrize(
    "text",
    [
        "We met Anna (CEO) there.",
        "Read the manual (PDF) first.",
        "An API (see below) is planned.",
        "The Alliance (NATO) met.",
        "It broke. Causes Analysis (RCA)",
        "Continuous integration, which we run (CI)",
        "(CI)",
        "Integration (I)",
        "nothing in parentheses",
    ],
)
def test_what_does_not_fit_letter_for_letter_is_left(text: str) -> None:
    assert spelled_out(text) == []


def test_each_is_taken_once_in_order_and_not_too_many() -> None:
    text = "Continuous Integration (CI), Root Cause (RC), Continuous Integration (CI)"
    assert [one.short for one in spelled_out(text)] == ["CI", "RC"]
    letters = [chr(ord("A") + n) for n in range(26)]
    many = [f"{a}x {b}y ({a}{b})" for a in letters[:8] for b in letters[:8]]
    assert len(spelled_out(". ".join(many))) == MOST


@pytest.mark.parametrize("piece", ["(A", "A (b", "Continuous Integration (CI) ", "AAAAAAA ", "("])
def test_it_is_linear_on_any_text(piece: str) -> None:
    started = time.perf_counter()
    spelled_out(piece * (2_000_000 // len(piece)))
    assert time.perf_counter() - started < 30
