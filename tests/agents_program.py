"""What an agent's program does over MCP, whatever the transport: it calls all tools, and makes mistakes."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from graphmem.tokens import TokenCounter

MEMORY_TOOLS = [
    "recall",
    "search_contextual",
    "remember",
    "remember_fact",
    "supersede_fact",
    "what_do_you_know",
    "forget",
    "patterns",
    "hyde_retrieve",
]
READING = ["recall", "search_contextual", "what_do_you_know", "patterns", "hyde_retrieve"]
RUN_TOOLS = [
    "run_start",
    "run_retrieve",
    "run_peek",
    "run_write",
    "run_subcall",
    "run_show",
    "run_end",
]
SAID = [
    {"role": "user", "name": "Mara", "content": "The harbour gate is painted mauve since Friday."},
    {"role": "assistant", "content": "Noted: the gate of the harbour is mauve."},
]


def text_of(answer: CallToolResult) -> str:
    """Return the text of an answer that is nothing but one text."""
    [one] = answer.content
    assert isinstance(one, TextContent)
    return one.text


async def told(agent: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must succeed; return its text."""
    answer = await agent.call_tool(tool, arguments)
    text = text_of(answer)
    assert not answer.is_error, text
    assert answer.structured_content is None
    return text


async def refused(agent: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse; return its sentence."""
    answer = await agent.call_tool(tool, arguments)
    assert answer.is_error, text_of(answer)
    assert "Traceback" not in text_of(answer)
    return text_of(answer)


def first_id(text: str) -> str:
    """Return the first id in a text."""
    found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)
    assert found is not None, text
    return found[0]


async def check_descriptions(agent: Client, names: list[str]) -> None:
    """Check that these tools are offered, each with a description, a valid schema and its hints."""
    tools = (await agent.list_tools()).tools
    assert [tool.name for tool in tools] == names
    for tool in tools:
        assert len(str(tool.description)) > 40
        assert tool.output_schema is None
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.annotations is not None
        reads = tool.name in {*READING, "run_show"}
        assert tool.annotations.read_only_hint is reads
        assert tool.annotations.destructive_hint is (tool.name == "forget")


async def use_memory_tools(agent: Client) -> None:
    """Remember, recall, correct, list and forget, as an agent does."""
    said = await told(agent, "remember", messages=SAID, conversation_id="harbour")
    assert "2 messages in conversation harbour" in said
    assert "mauve" in await told(agent, "recall", query="What colour is the harbour gate?")
    around = await told(agent, "search_contextual", query="What colour is the harbour gate?")
    assert "Noted: the gate" in around

    fact = first_id(await told(agent, "remember_fact", fact="Mara prefers the early ferry."))
    again = await told(agent, "remember_fact", fact="Mara prefers the early ferry.")
    assert again == f"This was known already, as fact {fact}."
    with_ids = await told(agent, "recall", query="Which ferry does Mara prefer?", ids=True)
    assert f"- fact {fact}: Mara prefers the early ferry." in with_ids
    now = "Mara prefers the late ferry."
    made = await told(agent, "supersede_fact", fact_id=fact, fact=now, reason="she moved")
    assert f"the earlier version {fact} is kept" in made
    known = await told(agent, "what_do_you_know")
    assert "late ferry" in known
    assert "early ferry" not in known
    window = ["user: Which ferry does Mara prefer?"]
    # It may run out of its two seconds; what it finds is tested where the limit can be lifted.
    assert await told(agent, "hyde_retrieve", window=window)
    await use_patterns(agent)
    await forget_it(agent, first_id(known))


async def use_patterns(agent: Client) -> None:
    """Ask for the catalogue, and for a pattern of it."""
    catalogue = await told(agent, "patterns")
    assert "- recurring_themes(" in catalogue
    assert await told(agent, "patterns", name="recurring_themes")
    few = await told(agent, "patterns", max_tokens=100)
    assert few.endswith(" more: raise max_tokens)")
    assert TokenCounter().count(few) <= 100


async def forget_it(agent: Client, fact: str) -> None:
    """Forget a fact, a name and a conversation: without the code, with a wrong one, with the right one."""
    assert await told(agent, "remember_fact", fact="Selene collects old maps.")
    for target in ({"memory_id": fact}, {"name": "Selene"}, {"conversation_id": "harbour"}):
        dry = await told(agent, "forget", **target)
        assert "Nothing was deleted" in dry
        wrong = await told(agent, "forget", **target, confirm="0" * 12)
        assert "The code is not that of what would go" in wrong
        code = re.search(r'confirm="(\w+)"', dry)
        assert code is not None
        assert (await told(agent, "forget", **target, confirm=code[1])).startswith("Forgotten: ")
        if "name" in target:
            assert await told(agent, "forget", **target) == "Nothing meets these conditions."
        else:
            assert await refused(agent, "forget", **target)
    assert await told(agent, "what_do_you_know", kinds=["fact", "message"]) == "Nothing was found."


async def use_run_tools(agent: Client) -> None:
    """Read and delegate within a budget."""
    budget = {"max_tokens": 2000}
    begun = await told(agent, "run_start", agent_type="a", episode_id="e", budget=budget)
    run = begun.split()[1]
    assert "Left: 2,000 tokens" in begun
    text = "The premium plan costs 49 a month and includes the API."
    await told(agent, "run_write", run_id=run, type="summary", content=text)
    found = await told(agent, "run_retrieve", run_id=run, query="premium plan", max_tokens=500)
    assert text in found
    assert "tokens charged" in found
    span = found.split()[0].strip("[")
    peeked = await told(agent, "run_peek", run_id=run, span_id=span, include_content=True)
    assert text in peeked
    child = await told(agent, "run_subcall", run_id=run, agent_type="b", budget_fraction=0.5)
    assert f"under {run}" in child
    assert "active" in await told(agent, "run_show", run_id=run)
    assert "completed" in await told(agent, "run_end", run_id=run, outcome="success")
    sentence = await refused(agent, "run_retrieve", run_id=run, query="plan", max_tokens=10)
    assert "ended" in sentence


async def use_resources_and_prompts(agent: Client) -> None:
    """Attach what is stored, and take both prompts."""
    await told(agent, "remember", messages=SAID, conversation_id="attached")
    [listed] = (await agent.list_resources()).resources
    assert (listed.uri, listed.name) == ("graphmem://conversation/attached", "attached")
    templates = (await agent.list_resource_templates()).resource_templates
    assert {one.name for one in templates} == {"conversation", "session", "memory"}
    whole = await read(agent, listed.uri)
    assert whole.index("Mara: The harbour gate") < whole.index("assistant: Noted")
    page = await told(agent, "what_do_you_know", kinds=["message"])
    memory = await read(agent, f"graphmem://memory/{first_id(page)}")
    assert "kind: message" in memory
    unknown = [f"graphmem://{kind}/none" for kind in ("conversation", "session", "memory")]
    for uri in (*unknown, "graphmem://planet/earth", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            await agent.read_resource(uri)

    prompts = (await agent.list_prompts()).prompts
    assert [one.name for one in prompts] == ["what_we_know", "keep_this_session"]
    topic = {"topic": "the harbour gate"}
    known = (await agent.get_prompt("what_we_know", topic)).messages[0].content
    assert isinstance(known, TextContent)
    assert "mauve" in known.text
    keep = (await agent.get_prompt("keep_this_session")).messages[0].content
    assert isinstance(keep, TextContent)
    assert "remember_fact" in keep.text
    for name, given in (("what_we_know", {"topic": " "}), ("sing", {})):
        with pytest.raises(MCPError):
            await agent.get_prompt(name, given)


async def read(agent: Client, uri: str) -> str:
    """Return the text of a resource."""
    [content] = (await agent.read_resource(uri)).contents
    return str(getattr(content, "text", ""))


MISTAKES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "no question": ("recall", {}, ("query", "missing")),
    "an unknown argument": ("recall", {"text": "x"}, ("text", "it may have query")),
    "too many tokens": (
        "recall",
        {"query": "x", "max_tokens": 200_001},
        ("max_tokens", "<= 200000"),
    ),
    "unknown kind": ("recall", {"query": "x", "kinds": ["memo"]}, ("kinds[0]", "episode")),
    "no zone": ("recall", {"query": "x", "as_of": "2026-03-02"}, ("as_of", "RFC 3339")),
    "unknown field": ("search_contextual", {"query": "x", "session": "s"}, ("session", "unknown")),
    "blank question": ("search_contextual", {"query": " "}, ("query", "blank")),
    "too many sessions": (
        "search_contextual",
        {"query": "x", "top_sessions": 21},
        ("top_sessions", "<= 20"),
    ),
    "no messages": ("remember", {"messages": []}, ("messages", "at least 1 entry")),
    "unknown role": (
        "remember",
        {"messages": [{"role": "boss", "content": "x"}]},
        ("messages[0].role", "assistant"),
    ),
    "impossible conversation": (
        "remember",
        {"messages": [{"content": "x"}], "conversation_id": "a b"},
        ("conversation_id", "letters"),
    ),
    "unknown category": (
        "remember_fact",
        {"fact": "x", "category": "mood"},
        ("category", "preference"),
    ),
    "unknown fact": ("supersede_fact", {"fact_id": "none", "fact": "x"}, ("none",)),
    "broken cursor": ("what_do_you_know", {"cursor": "%"}, ("cursor",)),
    "nothing to forget": ("forget", {}, ("name nothing to forget", "memory_id")),
    "unknown memory": ("forget", {"memory_id": "none"}, ("none",)),
    "unknown conversation": ("forget", {"conversation_id": "none"}, ("none",)),
    "unknown pattern": ("patterns", {"name": "tea_leaves"}, ("tea_leaves", "recurring_themes")),
    "unknown parameter": (
        "patterns",
        {"name": "recurring_themes", "parameters": {"colour": 1}},
        ("colour",),
    ),
    "no window": ("hyde_retrieve", {"window": []}, ("window",)),
}


async def make_mistakes(agent: Client) -> None:
    """Ask what cannot be asked: each refusal names the field, and the way to mend it."""
    for tool, arguments, words in MISTAKES.values():
        sentence = await refused(agent, tool, **arguments)
        assert all(word in sentence for word in words), (tool, arguments, sentence)
    with pytest.raises(MCPError, match=r"no tool 'sing'; there are: recall,"):
        await agent.call_tool("sing", {})
