"""What a run writes: a reference with spans that are the content's bytes, found at once."""

from itertools import pairwise

import pytest

from graphmem.client import Graphmem
from graphmem.errors import ContentDamaged
from graphmem.runs.session import RunSession
from graphmem.runs.types import RunSourceType, WriteType
from tests.budgeted import edges_of


async def run_of(memory: Graphmem) -> RunSession:
    return await memory.run(agent_type="copy-agent", episode_id="ep")


# S3.34
@pytest.mark.parametrize("length", [1, 99, 100, 101, 999, 1_000, 1_001, 5_000])
async def test_spans_are_the_bytes_of_the_content(length: int, memory: Graphmem) -> None:
    content = ("The lamp of Long Point burns. Ünïcödé! " * 200).encode()[:length]
    text = content.decode(errors="ignore")
    run = await run_of(memory)
    written = await run.write(type="log", content=text)
    whole, covered = text.encode(), 0
    for span in written.spans:
        assert span.source_type == "episode_log"
        assert span.source_id == written.id
        assert span.end_byte - span.start_byte <= 1_000
        assert covered - 100 <= span.start_byte <= covered
        covered = span.end_byte
        stored = await memory.span_content(span.id)
        assert stored.content is not None
        assert stored.content.encode() == whole[span.start_byte : span.end_byte]
        # S3.41
        assert stored.hash == span.hash
        assert span.token_count == memory.runtime.tokens.count(stored.content) > 0
    assert covered == len(whole)


# S3.33 S3.34
async def test_types_decide_where_spans_come_from(memory: Graphmem) -> None:
    run = await run_of(memory)
    sources: list[tuple[WriteType, RunSourceType]] = [
        ("summary", "thread_summary"),
        ("log", "episode_log"),
        ("artifact", "episode_log"),
    ]
    for type, source in sources:
        written = await run.write(type=type, content=f"The {type} of today.")
        assert [span.source_type for span in written.spans] == [source]
        result = await run.retrieve(f"the {type}", max_tokens=50, source_types=[source])
        assert written.spans[0].id in [one.span_id for one in result.spans]
    assert (await run.end("success")).write_count == 3


# S3.35 S3.43
async def test_a_large_content_is_found_in_all_its_parts(memory: Graphmem) -> None:
    parts = [
        f"Section {place} tells of the keeper Q{place}zz and his lamp. " for place in range(120)
    ]
    run = await run_of(memory)
    written = await run.write(type="artifact", content="".join(parts))
    assert len(written.spans) > 5
    for place in (0, 60, 119):
        result = await run.retrieve(f"Q{place}zz", max_tokens=600)
        assert any(f"Q{place}zz" in one.content for one in result.spans)


async def test_a_write_leaves_a_reference_with_its_spans_in_order(memory: Graphmem) -> None:
    run = await run_of(memory)
    written = await run.write(type="summary", content="The lamp of Long Point burns. " * 80)
    reference = await memory.reference(written.id)
    assert reference.content_bytes == 30 * 80
    assert reference.label == "summary written by copy-agent"
    edges = await edges_of(memory, written.id)
    spans = [span.id for span in written.spans]
    assert edges["parts"] == spans
    assert edges["nexts"] == [list(pair) for pair in pairwise(spans)]
    assert edges["wrote"] == [run.id]
    assert edges["foreign"] == 0


# S3.49
async def test_a_repetition_names_what_was_deleted_since(memory: Graphmem) -> None:
    run = await run_of(memory)
    content = "The lamp of Long Point burns. " * 60
    first = await run.write(type="log", content=content, operation_id="w")
    await memory.delete_memory(first.id)

    again = await run.write(type="log", content=content, operation_id="w")

    assert (again.id, again.spans) == (first.id, [])
    assert len(first.spans) == 2
    assert [(one.span_id, one.token_count, one.reason) for one in again.omitted] == [
        (span.id, span.token_count, "deleted") for span in first.spans
    ]
    assert first.omitted == []


async def test_metadata_is_kept_and_found(memory: Graphmem) -> None:
    run = await run_of(memory)
    metadata = {
        "importance": 0.9,
        "recency": 3,
        "tags": ["tariffs"],
        "about": {"station": "Skerry Rock", "visits": [1, "quarterly"]},
    }
    written = await run.write(type="log", content="The lamp burns.", metadata=metadata)
    [span] = written.spans
    assert span.metadata["about"] == metadata["about"]
    assert (span.metadata["importance"], span.metadata["tags"]) == (0.9, ["tariffs"])
    for word in ("tariffs", "Skerry", "quarterly"):
        result = await run.retrieve(word, max_tokens=50)
        assert [one.span_id for one in result.spans] == [span.id]
        assert result.spans[0].content == "The lamp burns."
        assert result.spans[0].importance == 0.9


@pytest.mark.parametrize(
    "metadata",
    [
        {"importance": "high", "tags": "red", "recency": "old"},
        {"importance": 7, "tags": [1], "recency": 1e300},
        {"importance": True, "tags": ["x" * 300]},
        {},
    ],
)
async def test_metadata_of_any_shape_is_only_kept(metadata: dict, memory: Graphmem) -> None:
    run = await run_of(memory)
    [span] = (await run.write(type="log", content="The lamp.", metadata=metadata)).spans
    assert (span.metadata["importance"], span.metadata["tags"]) == (0.5, [])


async def test_a_preview_of_what_was_forged_is_refused(memory: Graphmem) -> None:
    run = await run_of(memory)
    [span] = (await run.write(type="log", content="The lamp burns.")).spans
    await memory.runtime.graph.execute(
        "MATCH (m:Memory {client_id: $c, id: $id}) SET m.text = 'forged'",
        c=memory.client_id,
        id=span.id,
    )
    with pytest.raises(ContentDamaged):
        await run.peek(span.id, include_content=True)
