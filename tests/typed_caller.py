"""A user's script: methods and the attributes of their answers; `tests/test_typing.py` checks it."""

import graphmem


async def remember(memory: graphmem.Graphmem) -> str:
    """Fill a memory; return the id of its newest fact."""
    conversation = await memory.open_conversation(title="Launch")
    kept = await memory.remember(
        conversation.id, [{"session_id": "monday", "role": "user", "content": "We launch in May."}]
    )
    print(kept.ids[0])
    fact = await memory.remember_fact("The launch is in May", category="goal", importance=0.9)
    version = await memory.supersede_fact(fact.id, "The launch is in June", reason="late review")
    chain = await memory.versions(version.id)
    print([one.id for one in chain.versions], (await memory.categories()).categories)
    return version.id


async def ask(memory: graphmem.Graphmem, fact_id: str) -> str:
    """Query a memory in several ways; return text for a prompt."""
    answer = await memory.recall("When do we launch?", max_tokens=400, kinds=["fact", "message"])
    print(answer.tokens_used, [item.id for item in answer.items])
    found = await memory.search("launch", max_results=5, min_relevance=0.2)
    print([item.relevance for item in found.items])
    part = await memory.chunk(fact_id, max_tokens=50, truncation_strategy="sentence")
    context = await memory.create_context(max_tokens=1_000)
    added = await memory.add_to_context(context.id, fact_id)
    print(part.content, added.added)
    return await memory.compose_context(context.id)


def ask_a_service() -> list[str]:
    """Query a running service, without an event loop."""
    with graphmem.Client("http://localhost:8000", client_id="typed") as memory:
        texts = [item.label for item in memory.search("launch", max_results=3).items]
        for page in memory.pages(memory.memories, kinds=["fact"]):
            texts += [one.text for one in page.memories]
        with memory.run(agent_type="writer", episode_id="launch") as run:
            print(run.retrieve("launch", max_tokens=100).tokens_used)
    return texts


async def ask_from_afar() -> str:
    """Query a running service with the functions that take an embedded memory."""
    async with graphmem.AsyncClient(key="secret") as memory:
        async for page in memory.pages(memory.conversations, limit=5):
            print(page.total)
        return await ask(memory, await remember(memory))


async def main() -> None:
    """Run graphmem for a while."""
    async with graphmem.open(client_id="typed", log_level="warning") as memory:
        try:
            print(await ask(memory, await remember(memory)))
        except graphmem.InvalidInput as problem:
            print(problem.field)
