"""The four orders in which candidates can stand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from graphmem.model.vocabulary import Ranking
from graphmem.retrieval.finding import Candidate, FoundPassage
from graphmem.retrieval.ranking import CHAT, PROSE, Cues, Ranked, cues_of, ranked
from graphmem.text.languages import language

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Make = Callable[..., Candidate]


def order(ranking: list[Ranked]) -> list[str]:
    return [each.candidate.id for each in ranking]


@pytest.fixture
def found(candidate: Make) -> list[Candidate]:
    """Three by vector, three by words, two of them by both."""
    return [
        candidate("near", cosine=0.9),
        candidate("both", cosine=0.8, bm25=4.0),
        candidate("also", cosine=0.2, bm25=2.0),
        candidate("worded", cosine=0.1, bm25=8.0, by_vector=False),
    ]


def test_vector_ranks_what_the_vector_leg_found(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "vector")

    assert order(ranking) == ["near", "both", "also"]
    assert [each.score for each in ranking] == [0.9, 0.8, 0.2]


def test_bm25_ranks_what_the_words_leg_found(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "bm25")

    assert order(ranking) == ["worded", "both", "also"]
    assert [each.score for each in ranking] == [8.0, 4.0, 2.0]


def test_rrf_adds_the_legs_ranks(found: list[Candidate]) -> None:
    ranking = ranked(found, [], "rrf")

    assert order(ranking) == ["both", "also", "near", "worded"]
    assert {each.candidate.id: each.score for each in ranking} == {
        "both": pytest.approx(2 / 62),
        "also": pytest.approx(2 / 63),
        "near": pytest.approx(1 / 61),
        "worded": pytest.approx(1 / 61),
    }


def test_default_weighs_true_cosines_and_words(found: list[Candidate]) -> None:
    scores = {each.candidate.id: each.score for each in ranked(found, [], "default")}

    # Cosines by min-max weigh .65, words by their maximum .35; what only words found has its cosine.
    hybrid = {
        "near": 0.65,
        "both": 0.65 * 0.7 / 0.8 + 0.35 * 0.5,
        "also": 0.65 * 0.1 / 0.8 + 0.35 * 0.25,
        "worded": 0.35,
    }
    # Without sessions each is one of its own.
    best = max(hybrid.values())
    assert scores == {
        name: pytest.approx(score + 0.4 * score / best) for name, score in hybrid.items()
    }


def test_default_adds_neighbours_session_and_speaker(candidate: Make) -> None:
    here = {"session_id": "s", "cosine": 0.0}
    found = [
        candidate("a", idx=0, name="Mara", **here | {"cosine": 1.0}),
        candidate("b", idx=1, name="Quill", **here),
        candidate("c", session_id="t", idx=1, cosine=0.0),
    ]

    scores = {each.candidate.id: each.scores for each in ranked(found, ["quill"], "default")}
    total = {each.candidate.id: each.score for each in ranked(found, ["quill"], "default")}

    assert scores["a"] == {
        "vector": 1.0,
        "hybrid": pytest.approx(0.65),
        "cosine": 1.0,
        "before": 0.0,
        "after": 0.0,
        "around": 0.0,
        "session": 1.0,
    }
    assert scores["b"]["before"] == pytest.approx(0.65)
    assert scores["b"]["speaker"] == 1.0
    assert scores["c"]["session"] == 0.0
    assert total["a"] == pytest.approx(0.65 + 0.4)
    assert total["b"] == pytest.approx(0.2 * 0.65 + 0.4 + 0.1)
    assert total["c"] == 0.0


def test_a_question_in_the_first_person_asks_for_the_user_s_words(candidate: Make) -> None:
    found = [
        candidate("said", cosine=0.5),
        candidate("answered", cosine=0.5, role="assistant", name="Quill"),
    ]

    def speakers(question: str, *words: str) -> dict[str, float]:
        ranking = ranked(found, words, "default", cues_of(question, words, {}))
        return {one.id: one.scores["speaker"] for one in ranking if "speaker" in one.scores}

    assert speakers("What did I plan?") == {"said": 1.0}
    assert speakers("What did you plan?") == {"answered": 1.0}
    # A name tells more.
    assert speakers("What did I ask Quill?", "quill") == {"answered": 1.0}
    assert speakers("What was planned?") == {}


def cues(question: str) -> Cues:
    return cues_of(question, question.rstrip("?").lower().split(), {})


def test_a_question_s_words_share_the_whole_by_their_weights() -> None:
    told = cues_of("Boats leak in May 2026?", ["boats", "leak", "boat"], {"leak": 0.5})

    assert told.shares == {"boat": pytest.approx(2 / 3), "leak": pytest.approx(1 / 3)}
    assert len(told.times) == 1
    assert cues_of("", [], {}) == Cues({}, [])


def test_among_equals_the_named_time_decides(candidate: Make) -> None:
    then = {"cosine": 0.5, "bm25": 1.0}
    found = [
        candidate("a", **then),
        candidate("b", **then, occurred_at=datetime(2025, 6, 3, tzinfo=UTC)),
    ]

    assert order(ranked(found, [], "default", cues("Where in June 2025?"))) == ["b", "a"]
    assert order(ranked(found, [], "default", cues("Where?"))) == ["a", "b"]


def test_an_answer_is_read_with_the_question_before_it(candidate: Make) -> None:
    here = {"session_id": "s", "cosine": 0.5}
    found = [
        candidate("q", idx=0, text="Does the boat leak?", bm25=2.0, **here),
        candidate("a", idx=1, text="Yes, from below.", bm25=0.1, **here),
        candidate("z", idx=5, text="Yes, from above.", bm25=0.1, **here),
    ]

    told = cues("boat leak")
    scores = {each.id: each.scores for each in ranked(found, ["boat", "leak"], "default", told)}

    assert scores["q"]["coverage"] == 1.0
    assert scores["a"]["completed"] == 1.0
    assert "completed" not in scores["z"]


def test_words_count_as_much_as_any_memory_has_of_them(candidate: Make) -> None:
    """A memory with the one common word of a question must not outrank the nearest in meaning."""
    found = [
        candidate("near", cosine=0.8, text="It drips below deck."),
        candidate("worded", cosine=0.62, bm25=5.0, text="The old boat is blue."),
        candidate("far", cosine=0.5),
    ]
    asked = "does water enter the boat somewhere"

    assert order(ranked(found, asked.split(), "default", cues(asked)))[0] == "near"
    assert order(ranked(found, asked.split(), "default", cues("boat")))[0] == "worded"


def test_long_memories_are_ranked_as_prose(candidate: Make) -> None:
    long = {"token_count": 400, "session_id": "s"}
    found = [
        candidate("a", idx=0, cosine=1.0, bm25=1.0, text="boat", **long),
        candidate("b", idx=1, cosine=0.0, **long),
    ]

    scores = {each.id: each for each in ranked(found, ["boat"], "default", cues("boat"))}

    hybrid = 1.0
    brevity = 80 / 400
    assert scores["a"].score == pytest.approx(PROSE.cosine + PROSE.words + PROSE.session)
    assert scores["b"].score == pytest.approx(PROSE.before * brevity * hybrid + PROSE.session)
    assert "coverage" not in scores["a"].scores


def test_each_side_s_neighbours_are_a_signal_of_their_own(candidate: Make) -> None:
    found = [
        candidate(str(idx), session_id="s", idx=idx, cosine=float(idx == 1)) for idx in range(4)
    ]

    scores = {each.id: each.scores for each in ranked(found, [], "default")}

    assert [scores[str(idx)]["after"] for idx in range(4)] == [pytest.approx(0.65), 0, 0, 0]
    assert [scores[str(idx)]["before"] for idx in range(4)] == [0, 0, pytest.approx(0.65), 0]
    assert [scores[str(idx)]["around"] for idx in range(4)] == [0, 0, 0, pytest.approx(0.65)]


def test_a_long_memory_in_a_chat_keeps_little_of_its_words(candidate: Make) -> None:
    said = {"cosine": 0.5, "bm25": 1.0, "text": "boat"}
    short = [candidate(str(number), **said) for number in range(5)]

    rankings = ranked(
        [*short, candidate("long", token_count=160, **said)], ["boat"], "default", cues("boat")
    )

    scores = {each.id: each.scores for each in rankings}
    assert scores["0"]["coverage"] == 1.0
    assert scores["long"]["coverage"] == pytest.approx(0.5)


def test_short_memories_are_ranked_as_a_chat(candidate: Make) -> None:
    found = [candidate("a", token_count=30, cosine=1.0, bm25=1.0, text="boat")]

    (only,) = ranked(found, ["boat"], "default", cues("boat"))

    assert only.score == pytest.approx(
        CHAT.cosine
        + CHAT.words
        + CHAT.session
        + CHAT.coverage
        + CHAT.session_coverage
        + CHAT.substance
    )


def test_a_fact_without_a_session_is_not_behind_the_sessions_of_messages(candidate: Make) -> None:
    said = [
        candidate(
            f"m{idx}",
            session_id="s",
            idx=idx,
            cosine=0.6,
            bm25=1.0,
            text=f"Teodor Blum, part {idx}.",
        )
        for idx in range(8)
    ]
    fact = candidate("fact", cosine=0.8, bm25=2.0, text="Teodor Blum owns a boat.")

    far = candidate("far", cosine=0.1, text="The rent is due.")

    first = ranked([*said, fact, far], ["boat", "teodor"], "default", cues("boat teodor"))[0]

    assert first.id == "fact"


@pytest.mark.parametrize("ranking", ["default", "vector", "bm25"])
@pytest.mark.parametrize("told", [None, cues("old boat")])
def test_the_score_is_the_weighted_sum_of_the_scores(
    found: list[Candidate], ranking: Ranking, told: Cues | None
) -> None:
    for each in ranked(found, ["boat"], ranking, told):
        parts = (weight * each.scores.get(name, 0.0) for name, weight in each.weights.items())
        assert each.score == pytest.approx(sum(parts))


def test_each_memory_carries_its_scores_and_ranks(found: list[Candidate]) -> None:
    by_id = {each.candidate.id: each for each in ranked(found, [], "rrf")}

    assert by_id["both"].ranks == {"vector": 2, "bm25": 2}
    assert by_id["worded"].ranks == {"bm25": 1}
    assert by_id["worded"].scores == {"vector": 0.1, "bm25": 8.0}
    assert by_id["near"].ranks == {"vector": 1}
    assert by_id["near"].scores == {"vector": 0.9}


@pytest.mark.parametrize("ranking", get_args(Ranking))
def test_ties_go_to_the_newer_then_to_the_lower_id(ranking: Ranking, candidate: Make) -> None:
    alike = {"cosine": 0.5, "bm25": 1.0}
    later = NOON + timedelta(seconds=1)
    found = [
        candidate("d", **alike),
        candidate("b", **alike),
        candidate("c", **alike, occurred_at=later),
        candidate("a", **alike, occurred_at=later - timedelta(days=1)),
    ]

    assert order(ranked(found, [], ranking)) == ["c", "b", "d", "a"]


@pytest.mark.parametrize("ranking", get_args(Ranking))
def test_nothing_found_is_an_empty_ranking(ranking: Ranking) -> None:
    assert ranked([], ["word"], ranking) == []


def test_without_a_vector_the_words_decide(candidate: Make) -> None:
    found = [candidate("a", bm25=1.0), candidate("b", bm25=2.0)]

    assert order(ranked(found, [], "default")) == ["b", "a"]


@given(data=st.data(), ranking=st.sampled_from(get_args(Ranking)))
def test_the_order_found_in_does_not_matter(
    data: st.DataObject, ranking: Ranking, candidate: Make
) -> None:
    found = [
        candidate(
            str(number),
            cosine=data.draw(st.sampled_from((0.1, 0.5, 0.9))),
            bm25=data.draw(st.sampled_from((None, 1.0, 2.0))),
            by_vector=data.draw(st.booleans()),
            session_id=data.draw(st.sampled_from(("", "s", "t"))),
            idx=number,
            occurred_at=NOON + timedelta(days=data.draw(st.integers(0, 2))),
        )
        for number in range(data.draw(st.integers(0, 8)))
    ]
    shuffled = data.draw(st.permutations(found))

    ranking_found = ranked(found, ["word"], ranking)

    assert order(ranking_found) == order(ranked(shuffled, ["word"], ranking))
    scores = [each.score for each in ranking_found]
    assert scores == sorted(scores, reverse=True)


STRANGE = {"de": 0.1, "fr": 0.0, "es": 0.0, "ru": 0.0, "zh": 0.0, "ja": 0.0, "ko": 0.0, "ar": 0.0}


def worded(make: Make, id: str, content: str, **given: Any) -> Candidate:
    """Return a candidate with a text."""
    return make(id, text=content, **given)


def test_in_a_language_that_the_model_does_not_know_spelling_leads(candidate: Make) -> None:
    found = [
        worded(candidate, "english", "The hedge is too high.", cosine=0.9),
        worded(candidate, "near", "Die Bremsen sind neu, das war teuer.", cosine=0.8),
        worded(candidate, "right", "Im Komposthaufen wohnt ein Igel.", cosine=0.2),
    ]
    question = "Warum bleibt der Kompost liegen?"

    strange = ranked(found, [], "default", cues_of(question, [], {}, "de", STRANGE))
    known = ranked(found, [], "default", cues_of(question, [], {}, "de", {"de": 0.9}))

    assert order(strange) == ["right", "near", "english"]
    assert order(known)[0] == "english"
    assert {"spelling", "language"} <= strange[0].weights.keys()
    for one in strange:
        total = sum(weight * one.scores.get(name, 0.0) for name, weight in one.weights.items())
        assert one.score == pytest.approx(total)


def test_a_foreign_name_makes_no_question_in_that_language(candidate: Make) -> None:
    said = [
        worded(candidate, f"m{n}", f"This is the message of day {n}.", cosine=0.1) for n in range(9)
    ]
    thanks = worded(candidate, "thanks", "Thx!", cosine=0.2)
    right = worded(candidate, "right", "We had gnocchi at Da Enzo with the children.", cosine=0.8)

    def asked(query: str, *found: Candidate) -> list[str]:
        return order(ranked(found, [], "default", cues_of(query, [], {}, "it", STRANGE)))

    assert asked("gnocchi da enzo", *said, thanks, right)[0] == "right"
    there = worded(candidate, "there", "Abbiamo mangiato gli gnocchi da Enzo.", cosine=0.1)
    assert asked("gnocchi da enzo", thanks, right, there)[0] == "there"
    assert asked("Che cosa abbiamo mangiato da Enzo?", *said, thanks, right, there)[0] == "there"


def test_in_such_a_language_the_time_that_is_named_counts(candidate: Make) -> None:
    now = datetime(2026, 11, 24, 12, tzinfo=UTC)
    found = [
        worded(candidate, id, text, cosine=cosine, occurred_at=now - timedelta(days=days))
        for id, text, cosine, days in [
            ("other", "Das Gulasch schmeckt.", 0.9, 8),
            ("right", "Es gab Fisch mit Reis.", 0.2, 1),
        ]
    ]

    cues = cues_of("Was aßen wir gestern?", [], {}, "de", STRANGE, now)

    assert order(ranked(found, [], "default", cues)) == ["right", "other"]


def test_of_a_long_text_in_such_a_language_the_best_sentence_is_compared(candidate: Make) -> None:
    log = "08:01 INFO heartbeat of worker 31\nDie Schleuse blieb zu, weil ein Biber kam.\n08:02 INFO ok"
    long = FoundPassage(place=3, start=1_000, end=1_080, bm25=4.0, text=log)
    found = [
        worded(candidate, "chatter", "Lies das bitte, wenn du Zeit hast.", cosine=0.3),
        candidate("long", cosine=0.2, passages=[long], token_count=5_000),
    ]

    first, last = ranked(
        found, [], "default", cues_of("Warum blieb die Schleuse zu?", [], {}, "de", STRANGE)
    )

    assert (first.id, first.scores["spelling"], first.scores["language"]) == ("long", 1.0, 1.0)
    assert last.scores["spelling"] < 1


def test_a_text_in_a_language_that_the_model_does_not_know_is_not_near(candidate: Make) -> None:
    found = [
        worded(candidate, "strange", "Собака не ест курицу, потому что чешется.", cosine=0.9),
        worded(candidate, "right", "She may not have chicken.", cosine=0.8),
        worded(candidate, "wrong", "The boat leaks.", cosine=0.3),
    ]

    def asked(knowledge: dict[str, float]) -> list[str]:
        cues = cues_of("What may the dog not eat?", [], {}, "en", knowledge)
        return order(ranked(found, [], "default", cues))

    assert asked(STRANGE)[0] == "right"
    assert asked({}) == asked({"ru": 1.0}) == ["strange", "right", "wrong"]


def test_a_name_counts_in_a_text_in_a_language_that_the_model_does_not_know(candidate: Make):
    said = "Andrés se ha mudado a Bilbao con su hermana y sus dos perros."
    found = [
        worded(candidate, "named", said, cosine=0.5, bm25=4.0),
        worded(candidate, "near", "Where are the keys of the van now?", cosine=0.8, bm25=0.4),
        worded(candidate, "far", "The printer is on the second floor.", cosine=0.6),
    ]
    cues = cues_of("Where is Andrés now?", ["andrés"], {}, "en", {"es": 0.0})

    first = ranked(found, ["andrés"], "default", cues)[0]

    assert (first.id, first.scores["cosine"]) == ("named", 1.0)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Wie viele Gläser gibt es?", "Davon blieben zwölf.", "Davon blieb wenig."),
        (
            "Pourquoi rester dans le port ?",
            "Il pleuvait, donc on attend.",
            "Il pleuvait dans la nuit.",
        ),
        ("Кто помог?", "Помог сосед.", "Помогла лестница."),
        ("何人来ましたか。", "客は三人だった。", "客は静かだった。"),
        ("متى نذهب؟", "نذهب يوم الخميس.", "نذهب إلى البحر."),
    ],
)
def test_the_kind_of_answer_that_is_asked_for_counts_in_a_language_that_is_not_known(
    candidate: Make, question: str, right: str, wrong: str
) -> None:
    found = [worded(candidate, "wrong", wrong), worded(candidate, "right", right)]
    spoken = language(question)

    cues = cues_of(question, [], {}, spoken, STRANGE)
    scores = {one.id: one.scores["answer"] for one in ranked(found, [], "default", cues)}

    assert scores == {"right": 1.0, "wrong": 0.0}


def test_a_question_is_no_answer_in_a_language_that_is_not_known(candidate: Make) -> None:
    texts = {"asks": "Wo ist das Boot denn jetzt?", "tells": "Das Boot ist jetzt im Hafen."}
    found = [worded(candidate, id, content) for id, content in texts.items()]

    cues = cues_of("Wo ist das Boot?", [], {}, "de", STRANGE)

    assert order(ranked(found, [], "default", cues))[0] == "tells"
