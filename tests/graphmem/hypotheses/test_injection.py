"""The block of memories: its form, its order, its budget, its place."""

from hypothesis import given
from hypothesis import strategies as st

from graphmem.hypotheses.injection import HEADER, Entry, injected, injection
from graphmem.tokens import TokenCounter

TOKENS = TokenCounter()
TABS = Entry(text="Tabs.", category="coding_preference", scope="user", version=1)
SPACES = Entry(text="Spaces.", category="correction", scope="repo", version=2, supersedes="fact-1")


def test_it_stands_as_specified():  # S4.25 S4.26
    assert injection([SPACES, TABS], 0, tokens=TOKENS) == (
        "## Relevant Long-Term Memories\n\nThe following memories were retrieved from your "
        "persistent memory store as relevant to the current conversation. Apply them silently.\n\n"
        "**[correction | repo | v2]**\n*(supersedes fact-1)*\nSpaces.\n\n"
        "**[coding_preference | user | v1]**\nTabs.\n\n"
    )


def test_nothing_to_show_is_no_block():
    assert injection([], 0, tokens=TOKENS) == ""
    assert injection([TABS], 3, tokens=TOKENS) == ""


def test_it_ends_at_the_first_that_does_not_fit():  # S4.27
    long = Entry(text="x " * 500, category="pattern", scope="user", version=1)
    both = injection([TABS, TABS], 0, tokens=TOKENS)
    budget = max(TOKENS.count(both), -(-len(both) // 4))

    assert (
        injection([TABS, long, TABS], budget, tokens=TOKENS)
        == HEADER + both[len(HEADER) :][: (len(both) - len(HEADER)) // 2]
    )
    assert injection([TABS, TABS], budget, tokens=TOKENS) == both
    assert injection([TABS, TABS], budget - 1, tokens=TOKENS) != both


@given(st.lists(st.text(max_size=300), max_size=6), st.integers(1, 200))
def test_neither_the_characters_nor_the_tokens_of_a_budget_are_exceeded(
    texts: list[str], budget: int
):
    entries = [Entry(text=one, category="pattern", scope="user", version=1) for one in texts]

    block = injection(entries, budget, tokens=TOKENS)

    assert len(block) <= 4 * budget
    assert TOKENS.count(block) <= budget
    assert injection(entries, 0, tokens=TOKENS).startswith(block)


def test_it_goes_behind_the_system_messages_and_before_the_history():  # S4.4 S4.29
    system, said = {"role": "system", "content": "s"}, {"role": "user", "content": "u"}
    block = {"role": "system", "content": "memories"}

    assert injected([system, system, said], "memories") == [system, system, block, said]
    assert injected([said, system], "memories") == [block, said, system]
    assert injected([system], "memories") == [system, block]
    assert injected([], "memories") == [block]
    assert injected([system, said], "") == [system, said]
