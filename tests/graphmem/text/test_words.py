"""From a question to a Lucene query: any text is legal, and nothing leaves its scope."""

from collections.abc import Callable
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, example, given, settings, strategies as st

from graphmem.client import Graphmem
from graphmem.graph.scope import NOTHING, scope_word
from graphmem.model.vocabulary import QUERY_CHARACTERS
from graphmem.retrieval.filters import Filters, conditions, ranges, scope_groups
from graphmem.retrieval.finding import FOUND_IN_SCOPE
from graphmem.runtime import Runtime
from graphmem.text.words import (
    MOST_CHARACTERS,
    MOST_TERMS,
    QUESTION_WORDS,
    every_word,
    lucene_query,
    scope_query,
    stem,
    stems,
    terms,
    weights,
    words_from,
)

# A question, and the text that it must find.
FOUND_BY = {
    "Where is auth/middleware.py?": "The bug is in auth/middleware.py, line 40.",
    "What does AUTH-4013 mean?": "The service answers AUTH-4013 now and then.",
    "why don't they?": "They don't sail in winter.",
    "why won't she?": "She won’t sail in spring.",
    "why can’t he?": "He can't sail in autumn.",
    "Which one needs 3.11?": "It runs on Python 3.11 and newer.",
    "foo:bar": "The label is foo:bar here.",
    "E_CLOCK_DRIFT": "The worker logs E_CLOCK_DRIFT at night.",
    "Is Ansgar's boat blue?": "Ansgar owns a boat.",
    "who is mara.lindqvist@example.org": "Write to mara.lindqvist@example.org today.",
    "C++ or C#": "Rewritten in C++ over the summer.",
    "灯台はどこ": "灯台は港にあります。",
    "等大": "等大的房间。",
    "маяк": "Старый маяк у моря.",
    "السفينة": "وصلت السفينة إلى الميناء.",
    "Isn’t it over?": "It isn’t over yet.",
    "running ships": "A ship runs aground.",
    "CAFÉ crème": "One café crème, please.",
    "50%": "A discount of 50% was agreed.",
    "OFFICE files": "The oﬃce keeps a ﬁle of every ﬂoor.",
    "ﬂight": "A flight to Oslo.",
    "purée": "Pure\u0301e of peas.",
    "jalapen\u0303o": "One jalapeño is enough.",
}

NASTY = [
    '"',
    "\\",
    "\\\\",
    "AND OR NOT",
    "a AND",
    "NOT b",
    "&& || !",
    "+scope_words:*",
    "search_text:x OR scope_words:s*",
    ") OR (scope_words:*",
    "[a TO b] {c TO d}",
    "x^9 y~0.8 z*? /re.*/",
    "a\0b",
    "\0",
    "\u202eabc\u202c שלום مرحبا",
    "\U0001f98a\U0001f468‍\U0001f469‍\U0001f467",
    "漢字かなカナ𠀀",
    "\ud800".encode("utf-8", "replace").decode(),
    "x" * QUERY_CHARACTERS,
    "漢" * QUERY_CHARACTERS,
    " ".join(f"word{number}" for number in range(10_000)),
    "a.b.c.d'e’f:g " * 2_000,
    "'" * 10_000,
    "a:" * 10_000 + "b",
    "_ __ ___",
    "\t\n\r\v\f\u2028",
    "ﬁ ß ſ İ ǅ",
    "\ufdfa\ufeff\u200b",
]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Mara say about the lighthouse?", ["mara", "say", "lighthouse"]),
        ("Who was it?", ["who", "was", "it"]),
        ("Lantern lantern LANTERN", ["lantern"]),
        ("auth/middleware.py AUTH-4013", ["auth", "middleware.py", "4013"]),
        ("don't 3.11 foo:bar E_1", ["don't", "3.11", "foo:bar", "e_1"]),
        ("637,20 or 1,120, 3,a and b,4", ["637,20", "1,120", "3", "b", "4"]),
        ("trailing. dots... 'quoted'", ["trailing", "dots", "quoted"]),
        ("灯台はAUTH", ["灯", "台", "は", "auth"]),
        ("", []),
        ("?!… ()", []),
        ("\U0001f98a", []),
    ],
)
def test_terms(question: str, expected: list[str]) -> None:
    assert terms(question) == [
        term for term in expected if term != "say" or term not in QUESTION_WORDS
    ]


def test_no_more_terms_than_the_cap_and_no_longer_ones() -> None:
    many = terms(" ".join(f"word{number}" for number in range(10_000)))

    assert many == [f"word{number}" for number in range(MOST_TERMS)]
    assert terms("x" * 10_000) == ["x" * MOST_CHARACTERS]


def test_question_words_do_not_use_up_the_cap() -> None:
    assert terms("what is the " * 100 + "lantern") == ["lantern"]


@given(st.text())
def test_terms_are_distinct_and_few(question: str) -> None:
    found = terms(question)

    assert len(found) == len(set(found)) <= MOST_TERMS
    assert all(0 < len(term) <= MOST_CHARACTERS for term in found)
    assert not (set(found) & QUESTION_WORDS) or set(found) <= QUESTION_WORDS


def test_a_query_is_scoped_and_escaped() -> None:
    query = lucene_query(["foo:bar", "don't", "3.11"], [["s10"], ["s20", "s30"]])

    assert query == (
        "+scope_words:(s10)^0 +scope_words:(s20 s30)^0 "
        r"+search_text:(foo\:bar don\'t don\’t 3\.11 3\,11)"
    )


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("STRASSE", {"strasse", "straße"}),
        ("Straße", {"strasse", "straße"}),
        ("MASSSTAB", {"massstab", "maßstab", "masßtab"}),
        ("ΟΔΟΣ", {"οδος", "οδοσ"}),
        ("İzmir", {"izmir"}),
        ("OFFICE", {"office", "oﬃce"}),
        ("ﬂoor", {"floor", "ﬂoor"}),
        ("CAFÉ", {"café", "cafe\u0301"}),
        ("cafe\u0301", {"café", "cafe\u0301"}),
        ("Boat", {"boat"}),
        ("1,120", {r"1\,120", r"1\.120", "1120"}),
        ("27400", {"27400", r"27\,400", r"27\.400"}),
        ("2.026", {r"2\.026", r"2\,026", "2026"}),
        ("2026", {"2026"}),
        ("007", {"007"}),
        ("637,20", {r"637\,20", r"637\.20"}),
    ],
)
def test_a_word_is_looked_for_in_every_case_that_the_index_may_hold(
    word: str, forms: set[str]
) -> None:
    query = lucene_query(terms(word), [["s10"]])  # S1.29

    assert set(query.partition("+search_text:(")[2].rstrip(")").split()) == forms


def test_stems_are_the_same_in_every_case() -> None:
    for words in (
        ("STRASSE", "Straße", "strasse"),
        ("ΟΔΟΣ", "οδος"),
        ("İzmir", "izmir", "IZMIR"),
        ("oﬃce", "OFFICE"),
        ("cafe\u0301", "CAFÉ"),
    ):
        assert len({frozenset(stems(word)) for word in words}) == 1


def test_common_words_weigh_less() -> None:
    assert lucene_query(["mara", "boat"], [["s10"]], {"mara": 0.25}) == (
        "+scope_words:(s10)^0 +search_text:(mara^0.250 boat)"
    )


def test_without_words_nothing_is_found() -> None:
    assert lucene_query([], [["s10"]]) == f"scope_words:{NOTHING}"


def test_a_scope_query_asks_for_all_in_every_group() -> None:
    assert scope_query([["s10"], ["s20", "s30"]]) == (
        "+scope_words:(s10)^0 +scope_words:(s20 s30)^0"
    )


def test_the_more_hold_a_word_the_less_it_weighs() -> None:
    shares = {"mara": 0.95, "boat": 0.1, "rare": 0.01, "all": 1.0}

    found = weights(["mara", "boats", "rare", "all", "unheard"], shares)

    assert found == {
        "mara": pytest.approx(0.000124, abs=1e-6),
        "boats": pytest.approx(0.25),
        "all": pytest.approx(0.000124, abs=1e-6),
    }


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("running", "run"),
        ("mara's", "mara"),
        ("mara’s", "mara"),
        ("boats", "boat"),
        ("4013", "4013"),
        ("1,120", "1120"),
        ("27.400.000", "27400000"),
        ("24,99", "24.99"),
        ("1,1234", "1,1234"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_the_stems_of_a_text() -> None:
    assert stems("Boats, BOATS! Mara's boat.") == {"boat", "mara"}


@pytest_asyncio.fixture(scope="module")
async def library(runtime: Runtime, new_client: Callable[[], str]) -> dict[str, str]:
    """A client that holds a text for each question, by its id; a rival holds the same."""
    client_id, rival_id = new_client(), new_client()
    for each in (rival_id, client_id):
        memory = Graphmem(runtime, each)
        conversation = await memory.open_conversation()
        kept = await memory.remember(
            conversation.id,
            [{"session_id": "s", "role": "user", "content": text} for text in FOUND_BY.values()],
        )
    return {"": client_id} | dict(zip(kept.ids, FOUND_BY.values(), strict=True))


def asked(client_id: str) -> dict[str, Any]:
    """Return the parameters of a search by words alone, but the words."""
    every = (
        ranges(Filters())
        | conditions(Filters())
        | {"now_only": True, "by_vectors": True, "detailed": False}
    )
    return every | {"client_id": client_id, "vectors": [], "limit": 100, "longest": 0, "least": 0.0}


async def by_words(
    question: str, client_id: str, runtime: Runtime, spoken: str | None = None
) -> set[str]:
    """Return the ids that the words leg finds."""
    words = terms(question, spoken)
    query = lucene_query(words, scope_groups(Filters(), client_id), None, spoken)
    [answer] = await runtime.graph.rows(FOUND_IN_SCOPE, words=query, **asked(client_id))
    return {candidate.id for candidate in answer.rows}


@pytest.mark.parametrize("question", FOUND_BY)
async def test_what_stands_in_a_text_is_found(
    question: str, runtime: Runtime, library: dict[str, str]
) -> None:
    found = await by_words(question, library[""], runtime)

    assert FOUND_BY[question] in {library[id] for id in found}


@pytest.mark.parametrize("question", NASTY, ids=range(len(NASTY)))
async def test_any_question_is_a_legal_query_inside_its_scope(
    question: str, runtime: Runtime, library: dict[str, str]
) -> None:
    assert await by_words(question, library[""], runtime) <= set(library)


@settings(
    max_examples=100,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    question=st.text(max_size=300)
    | st.lists(st.sampled_from([*NASTY[:14], "lantern", " ", ".", "'", ":", "AND"])).map("".join)
    | st.text('+-&|!(){}[]^"~*?:\\/ aA.’', max_size=60),
    spoken=st.sampled_from([None, "en", "de", "ru", "ar", "zh", "ja", "th"]),
)
async def test_any_text_is_a_legal_query_inside_its_scope(
    question: str, spoken: str | None, runtime: Runtime, library: dict[str, str]
) -> None:
    assert await by_words(question, library[""], runtime, spoken) <= set(library)


@pytest.mark.parametrize("spoken", ["ar", "de", "ja", "ru"])
async def test_the_longest_question_is_a_legal_query_in_any_language(
    spoken: str, runtime: Runtime, library: dict[str, str]
) -> None:
    letters = {"ar": "بتثجحخدذ", "de": "abdefgss", "ja": "水管写真家族屋根", "ru": "абвгдежз"}[
        spoken
    ]
    words = [
        "".join(letters[place // 8**n % 8] for n in range(5)) for place in range(MOST_TERMS * 2)
    ]

    assert await by_words(" ".join(words), library[""], runtime, spoken) <= set(library)


def test_in_another_language_beginnings_and_pairs_are_searched_too() -> None:
    # 2.000 is the weight of a beginning, .500 that of a word such as der.
    assert lucene_query(["der", "hunde"], [["s10"]], None, "de").endswith(
        "(der^0.500 hunde hund*^2.000)"
    )
    assert lucene_query(["der", "hunde"], [["s10"]], {"hunde": 0.5}, "de").endswith(
        "(der^0.500 hunde^0.500 hund*)"
    )
    assert lucene_query(["der", "hunde"], [["s10"]], None, "en").endswith("(der hunde)")
    assert terms("水管冻裂", "zh") == ["水管", "管冻", "冻裂", "水", "管", "冻", "裂"]
    assert lucene_query(["水管", "水"], [["s10"]], None, "zh").endswith('("水 管" 水)')
    assert terms("水管冻裂") == ["水", "管", "冻", "裂"]


async def test_scope_words_do_not_change_the_scores(
    runtime: Runtime, library: dict[str, str]
) -> None:
    client_id = library[""]
    groups = scope_groups(Filters(), client_id)
    scores = []
    for scope in (groups, groups[:1], [*groups, [scope_word(client_id, "kind", "message")]]):
        [answer] = await runtime.graph.rows(
            FOUND_IN_SCOPE,
            words=lucene_query(["boat", "ship", "4013"], scope),
            **asked(client_id),
        )
        scores.append({candidate.id: candidate.bm25 for candidate in answer.rows})

    assert scores[0] == scores[1] == scores[2]
    assert len(scores[0]) == 3


@given(st.text(st.sampled_from("ab_1 .,':!-"), max_size=30))
def test_plain_ascii_has_the_words_that_it_has_beside_other_letters(text: str) -> None:
    assert [*every_word(text), "é"] == every_word(f"{text} é")


@given(
    st.frozensets(st.sampled_from("a_1é")),
    st.text(st.sampled_from("aAb_12.,' é"), max_size=12),
)
@example(frozenset("1"), "2,1 1")
def test_words_from_some_initials_are_those_among_all(initials: frozenset[str], text: str) -> None:
    assert words_from(initials, text) == [word for word in every_word(text) if word[0] in initials]
