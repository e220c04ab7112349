"""The text for a model: to the character, and what of it fits."""

from graphmem.contextual.assemble import (
    Exchange,
    LineBudget,
    LinkLine,
    SessionExchanges,
    context_line,
    fitting_contexts,
    fitting_hits,
    fitting_links,
    heading,
    hit_line,
    link_line,
    prompt,
)
from graphmem.tokens import TokenCounter

TOKENS = TokenCounter()


def exchange(id: str, score: float, content: str = "text", context: str = "") -> Exchange:
    return Exchange(id, hit_line("user", content), score, [], context)


def test_headings_and_links_are_cut_and_always_end_in_an_ellipsis() -> None:
    # S5.14
    assert heading("s" * 120) == f"## Session: {'s' * 100}...\nRelevant exchanges:"
    assert heading("short") == "## Session: short...\nRelevant exchanges:"
    assert link_line("l" * 90) == f"- {'l' * 80}..."
    assert hit_line("assistant", "Yes.\n## No") == "  [assistant]: Yes. ## No"
    assert context_line([]) == ""
    assert context_line([("user", "a"), ("tool", "b")]) == "    Context: [user]: a [tool]: b"


def test_the_text_has_sessions_then_related_ones() -> None:
    # S5.14
    passages = [
        SessionExchanges(
            "1", heading("One"), [exchange("a", 1.0, "hit", "    Context: [user]: near")]
        ),
        SessionExchanges("2", heading("Two"), []),
    ]
    assert prompt(passages, [LinkLine("3", "- Three..."), LinkLine("3", "- Three...")]) == (
        "## Session: One...\nRelevant exchanges:\n  [user]: hit\n    Context: [user]: near\n"
        "## Session: Two...\nRelevant exchanges:\n\n## Related sessions:\n- Three..."
    )
    assert prompt([], []) == ""


def test_the_best_hit_gets_the_room_and_a_misfit_leaves_it_to_the_next() -> None:
    long = "word " * 100
    passages = [
        SessionExchanges("1", heading("One"), [exchange("a", 0.5), exchange("b", 0.9, long)]),
        SessionExchanges("2", heading("Two"), [exchange("c", 0.7)]),
    ]
    budget = LineBudget(30, TOKENS)
    assert fitting_hits(passages, budget) == (frozenset({"a", "c"}), frozenset({"1", "2"}))
    small = LineBudget(TOKENS.count(f"{heading('Two')}\n  [user]: text\n") + 1, TOKENS)
    assert fitting_hits(passages, small) == (frozenset({"c"}), frozenset({"2"}))


def test_what_stands_around_and_links_get_what_is_left() -> None:
    passages = [
        SessionExchanges(
            "1",
            heading("One"),
            [
                exchange("a", 0.5, context="    Context: x"),
                exchange("b", 0.9, context="    Context: y"),
            ],
        )
    ]
    assert fitting_contexts(passages, LineBudget(6, TOKENS)) == frozenset({"b"})
    links = [LinkLine("1", "- One..."), LinkLine("2", "- " + "two " * 40 + "...")]
    assert [one.session_id for one in fitting_links(links, LineBudget(15, TOKENS))] == ["1"]
    assert fitting_links(links, LineBudget(3, TOKENS)) == []
