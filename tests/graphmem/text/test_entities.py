"""Which names a text mentions, when two names are the same, and that no text takes long."""

import time

import pytest
from hypothesis import given, strategies as st

from graphmem.text.entities import (
    MOST_ENTITIES,
    SEEN_CHARACTERS,
    Entity,
    displayed,
    entities,
    normalized,
    titles,
)
from graphmem.text.identifiers import LONGEST


def keys(text: str) -> set[str]:
    return {entity.normalized for entity in entities(text)}


def test_an_entity_keeps_how_it_was_first_written_and_counts_as_one():
    found = entities("The Hukilau Song is old. Play the Hukilau song! THE HUKILAU SONG.")

    assert found[0].normalized == "hukilau song"
    assert [entity.normalized for entity in found].count("hukilau song") == 1


def test_what_is_mentioned_most_comes_first_then_what_comes_first():
    found = entities("We met Ada, Bela and Cora. Later Cora called. We like Cora and Bela.")

    assert [entity.name for entity in found if " " not in entity.name] == ["Cora", "Bela", "Ada"]


@pytest.mark.parametrize(
    "names",
    [
        ("Ada Lovelace", "ADA LOVELACE", " ada \nlovelace ", "Ada Lovelace’s", "“Ada Lovelace”"),
        ("Hukilau Song", "The Hukilau Song", "the hukilau song", "The Hukilau Song (song)"),
        ("Ed Wood (film)", "Ed Wood", "ed wood's"),
        ("Straße", "STRASSE", "strasse"),
        ("Ｆｕｌｌ Width", "Full Width"),
        ("Caf\u00e9", "Cafe\u0301"),
        ("retry_all", "retry_all()", "`retry_all`"),
        ("Анна Каренина", "АННА КАРЕНИНА"),
    ],
)  # fmt: skip
def test_the_same_name_written_otherwise_is_the_same(names: tuple[str, ...]):
    assert len({normalized(name) for name in names}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AUTH-401", "AUTH-402"),
        ("deploy/ingress.yaml", "deploy/egress.yaml"),
        ("Ed Wood", "Ed Woods"),
        ("Analyst", "An Alyst"),
        ("Theodora", "The Odora"),
        ("retry_all", "retry all"),
    ],
)
def test_other_names_stay_apart(one: str, other: str):
    assert normalized(one) != normalized(other)


@pytest.mark.parametrize(
    "nothing", ["", " ", "\n", "“”", "...", "x" * (LONGEST + 1), "x" * 1_000_000]
)
def test_what_is_no_name_has_no_form(nothing: str):
    assert normalized(nothing) == ""


def test_a_title_names_itself_and_its_part_before_a_comma():
    assert titles("Leland, North Carolina") == [
        Entity("Leland", "leland"),
        Entity("Leland, North Carolina", "leland, north carolina"),
    ]
    assert titles("Ed Wood (film)") == [Entity("Ed Wood (film)", "ed wood")]
    assert titles("") == []


def test_chosen_keywords_count_as_mentioned():
    found = entities("it leaves at nine", ["ferry", "Harbour", "ferry"])

    assert [entity.normalized for entity in found] == ["ferry", "harbour"]


def test_a_name_inside_a_path_or_an_identifier_is_not_a_name_of_its_own():
    assert keys("open src/Harbour/App.tsx and call getHarbour()") == {
        "src/harbour/app.tsx",
        "getharbour",
    }


@pytest.mark.parametrize(
    "text",
    [
        '```html\n<nav aria-label="Main Navigation">\n```',
        "<b title='Big Deal' class='Main Part'>x</b>",
        "the triangle \\( CG:GP = M_1 \\) and \\[ a_1 = b_1 \\] is small",
        "a `for` loop, a `section`, `display: none`, `Element not found: ${name}`, `@`",
    ],
)
def test_code_tags_and_formulas_hold_no_names_of_prose(text: str):
    assert keys(text) == set()


def test_identifiers_are_found_inside_code_too():
    assert keys("```js\nconst shown = getHarbour();\n```\nAsk Mara.") == {"getharbour", "mara"}


def test_of_very_many_names_those_mentioned_most_are_kept():
    rare = " ".join(
        f"We met Bo{chr(97 + place % 26)}{chr(97 + place // 26)}ra." for place in range(400)
    )

    found = entities(f"{rare} We met Zelda. We met Zelda.")

    assert len(found) == MOST_ENTITIES
    assert found[0].normalized == "zelda"


def test_what_lies_far_behind_is_not_looked_at():
    assert keys("a " * (SEEN_CHARACTERS // 2) + "We met Zelda.") == set()


@given(st.text(max_size=400), st.lists(st.text(max_size=40), max_size=3))
def test_any_text_gives_bounded_names_that_keep_their_form(text: str, keywords: list[str]):
    for entity in entities(text, keywords):
        assert entity.normalized == normalized(entity.name)
        assert 0 < len(entity.normalized) <= LONGEST
        assert entity.name == displayed(entity.name)


PIECES = st.sampled_from(
    [
        *"AaZ9_.-/\\'’\"`“”«»()&@#:~ \n\u00a0ÉΩж中",
        "A.",
        "of ",
        "the ",
        " and ",
        "I ",
        "'s ",
        "HTTP ",
        "Dr. ",
        "x_",
        "1",
    ]
)


@given(st.lists(PIECES, min_size=1, max_size=6), st.integers(0, 30))
def test_any_pattern_repeated_is_read_in_time_that_grows_with_its_length(
    pattern: list[str], lead: int
):
    unit = "".join(pattern)
    text = "x" * lead + unit * (20_000 // len(unit))

    started = time.thread_time()
    entities(text)
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize(
    "unit",
    ["x", "X", "Xy ", "A.", "a.", "A'", "A-", "A&b", '"', "“", "`", "`a", "/", "/a", "_", "a_", "a@", "a@b.",
     "A of the ", "Xy\u00a0of\u00a0", "exit code ", "a_b.", " ", "\n", "(", "1", "I ", "Dr. ", "中", "Ж"],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read_at_once(unit: str):
    text = unit * (1_000_000 // len(unit))

    started = time.thread_time()
    found = entities(text)
    assert time.thread_time() - started < 2.0
    assert len(found) <= MOST_ENTITIES


@pytest.mark.parametrize("piece", ["\\(", "\\(\\[", "`a\n", "```\n", "<a ", "**a", "$$a", "# A\n"])
def test_it_is_linear_on_any_text(piece: str) -> None:
    started = time.perf_counter()
    entities(piece * (100_000 // len(piece)))
    assert time.perf_counter() - started < 5
