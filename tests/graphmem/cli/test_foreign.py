"""Files of other programs; where their shapes come from is in tests/imports/README.md."""

import gzip
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli.foreign.reading import LOOKED_AT, UNKNOWN_TIME, recognised
from graphmem.cli.lines import BEGINNING, BadLine, FileChanged, FilePosition, Line
from graphmem.conversations.forms import plain
from graphmem.errors import InvalidInput
from graphmem.model.times import present

FILES = Path(__file__).parents[2] / "imports"

Row = tuple[str, str, str]
"""The conversation, the role and the text of a message."""

LIGHTHOUSE = "6650f0a1-0000-4000-8000-000000000001"
CIRCLE = "6650f0a1-0000-4000-8000-000000000002"
HARBOUR = "c1a00000-0000-4000-8000-000000000001"
BERTH = "c1a00000-0000-4000-8000-000000000002"

READ: dict[str, tuple[str, list[Row]]] = {
    "chatgpt.json": (
        "an export of ChatGPT",
        [
            (
                LIGHTHOUSE,
                "user",
                "[image_asset_pointer]\nHow high is this lighthouse?\n[lighthouse.jpg]",
            ),
            (LIGHTHOUSE, "assistant", "python(print(3 * 14))"),
            (LIGHTHOUSE, "tool", "42"),
            (LIGHTHOUSE, "assistant", "It is 42 metres high."),
            (LIGHTHOUSE, "user", "Thank you!"),
            (CIRCLE, "user", "A circle is no tree."),
            (CIRCLE, "assistant", "It ends where it closes."),
        ],
    ),
    "claude.json": (
        "an export of Claude",
        [
            (HARBOUR, "user", "Read the plan.\n[plan.txt]\nThe harbour gets a second pier."),
            (HARBOUR, "assistant", 'calendar({"month": "May"})\nfree\nA second pier is planned.'),
            (BERTH, "user", "Which berth?"),
            (BERTH, "assistant", "Berth two.\n[berths.png]"),
        ],
    ),
    "openai.json": (
        "messages of OpenAI or Anthropic",
        [
            ("openai", "system", "Be short."),
            ("openai", "user", "What is the weather in Oslo?\n[image_url]"),
            ("openai", "assistant", 'weather({"city": "Oslo"})'),
            ("openai", "tool", "rain"),
            ("openai", "assistant", "It rains in Oslo."),
            ("openai", "assistant", "umbrella({})"),
            ("openai", "tool", "red"),
            ("openai", "assistant", "Take the red umbrella."),
        ],
    ),
    "openai.jsonl": (
        "messages of OpenAI or Anthropic",
        [
            ("openai", "system", "Be kind."),
            ("openai", "user", "Hello"),
            ("openai", "assistant", "Hello to you."),
            ("thread_7", "user", "Hello"),
            ("thread_7", "assistant", "Good day."),
        ],
    ),
    "anthropic.json": (
        "messages of OpenAI or Anthropic",
        [
            ("anthropic", "system", "You keep a garden."),
            ("anthropic", "user", "When are the tulips planted?"),
            ("anthropic", "assistant", 'I look it up.\nalmanac({"plant": "tulip"})'),
            ("anthropic", "tool", "October"),
            ("anthropic", "assistant", "In October."),
        ],
    ),
    "langchain.json": (
        "messages of LangChain",
        [
            ("langchain", "system", "You are a librarian."),
            ("langchain", "user", "Where are the atlases?"),
            ("langchain", "assistant", 'shelf({"topic": "atlas"})'),
            ("langchain", "tool", "shelf 9"),
            ("langchain", "assistant", "On shelf nine."),
        ],
    ),
    "langgraph.json": (
        "checkpoints of LangGraph",
        [("thread-4", "user", "Book a table."), ("thread-4", "assistant", "At seven?")],
    ),
    "claude_code.jsonl": (
        "a transcript of Claude Code",
        [
            ("harbour:c2d2c6e8", "user", "Add a test for the pier."),
            ("harbour:c2d2c6e8", "assistant", "I add tests/test_pier.py."),
            ("harbour:c2d2c6e8", "assistant", "Done."),
        ],
    ),
    "codex.jsonl": (
        "a transcript of Codex",
        [
            ("harbour:c2d2c6e8", "user", "Why does the build fail?"),
            ("harbour:c2d2c6e8", "assistant", "The linker is missing."),
        ],
    ),
    "mem0.json": (
        "memories of mem0",
        [
            ("mem0:ida", "assistant", "Is allergic to peanuts"),
            ("mem0:ida", "user", "Sails on Sundays"),
        ],
    ),
    "graphiti.json": (
        "episodes of Graphiti or Zep",
        [
            ("ida", "user", "Ida(user): The ferry leaves at nine."),
            ("ida", "assistant", "assistant: I note it."),
            ("town", "user", '{"ferry": "09:00"}'),
            ("thread-1", "user", "Until tomorrow."),
            ("thread-2", "assistant", "Good night."),
        ],
    ),
    "letta.af": (
        "an agent file of Letta",
        [
            ("letta:sam", "user", "I sail on Sundays."),
            ("letta:sam", "assistant", "I like sailing too."),
            ("letta:sam", "assistant", "Good wind!"),
            ("letta:sam", "system", "First name: Chad"),
        ],
    ),
    "letta_first.af": (
        "an agent file of Letta",
        [
            ("letta:sam", "user", "Who are you?"),
            ("letta:sam", "system", "I am Sam."),
        ],
    ),
}

TIMES = {
    "chatgpt.json": ["2024-03-01T10:01:00.500000+00:00", "2024-03-01T10:03:30.500000+00:00"],
    "claude.json": ["2025-05-01T08:00:00+00:00", "2025-05-02T08:00:09+00:00"],
    "langgraph.json": ["2025-03-01T10:00:00+00:00", "2025-03-01T10:00:09+00:00"],
    "claude_code.jsonl": ["2025-06-01T09:00:00+00:00", "2025-06-01T09:00:08+00:00"],
    "codex.jsonl": ["2025-09-27T09:00:03+00:00", "2025-09-27T09:00:07+00:00"],
    "mem0.json": ["2025-02-28T00:33:20.557000+00:00", "2025-02-28T16:00:00+00:00"],
    "graphiti.json": ["2025-04-01T07:00:00+00:00", "2025-04-03T20:00:00+00:00"],
    "letta_first.af": ["2025-04-01T08:00:30+00:00", "2025-04-01T08:00:00+00:00"],
}
"""The times of the first and of the last message, of forms that have times."""


def lines_of(path: Path, conversation: str | None = None) -> list[Line]:
    """Return what an import of a file would remember."""
    found = recognised(path, conversation)
    assert found is not None
    with found.opened() as files:
        return [line for window in found.windows(files) for line in window]


def rows(lines: Iterable[Line]) -> list[Row]:
    """Return the messages as they would be stored."""
    stored = [(line.conversation_id, plain(line.message, present())) for line in lines]
    return [(conversation, message.role, message.content) for conversation, message in stored]


def ids(lines: Iterable[Line]) -> list[str | None]:
    """Return the ids by which an import knows a message again."""
    return [line.message.external_id for line in lines]


def written(path: Path, value: Any) -> Path:
    """Write a value as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def records(name: str) -> Any:
    """Return what a file holds."""
    return json.loads((FILES / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", READ)
def test_a_file_is_recognised_and_read(name):
    form, expected = READ[name]
    found = recognised(FILES / name)
    assert found is not None
    assert found.seen.form == form
    assert rows(lines_of(FILES / name)) == expected


def test_every_file_is_tested():
    there = {path.name for path in FILES.iterdir()} - {"README.md"}
    assert there == set(READ)
    readme = (FILES / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(there) if f"`{name}`" not in readme] == []


@pytest.mark.parametrize("name", TIMES)
def test_the_original_times_are_kept(name):
    times = [plain(line.message, present()).occurred_at for line in lines_of(FILES / name)]
    assert [times[0].isoformat(), times[-1].isoformat()] == TIMES[name]


@pytest.mark.parametrize("name", READ)
def test_ids_are_stable_and_differ(name, tmp_path):
    first, again = lines_of(FILES / name), lines_of(FILES / name)
    assert ids(first) == ids(again)
    assert len(set(ids(first))) == len(first)


def test_what_is_no_message_is_counted():
    found = recognised(FILES / "chatgpt.json")
    assert found is not None
    with found.opened() as files:
        list(found.windows(files))
    assert found.seen.left_out == {
        "message of another branch": 2,
        "message that the program hides": 2,
        "reasoning": 1,
        "conversation 3 cannot be read: Expected `object`, got `null` - at `$.mapping`": 1,
    }
    assert found.seen.roles == {"user": 3, "assistant": 3, "tool": 1}


@pytest.mark.parametrize("name", READ)
def test_roles_are_counted_by_the_names_that_are_stored(name):
    found = recognised(FILES / name)
    assert found is not None
    with found.opened() as files:
        lines = [line for window in found.windows(files) for line in window]
    stored = Counter(plain(line.message, present()).role for line in lines)
    assert found.seen.roles == stored


def test_titles_are_kept_and_sessions_of_one_conversation_are_the_conversations_of_the_file():
    assert [line.title for line in lines_of(FILES / "chatgpt.json")][-1] == "Circle"
    lines = lines_of(FILES / "chatgpt.json", "old-chats")
    assert {line.conversation_id for line in lines} == {"old-chats"}
    assert {line.message.session_id for line in lines} == {LIGHTHOUSE, CIRCLE}
    assert {line.title for line in lines} == {None}


def test_without_a_current_node_the_latest_branch_is_read(tmp_path):
    export = records("chatgpt.json")[:1]
    export[0]["current_node"] = None
    assert rows(lines_of(written(tmp_path / "c.json", export))) == READ["chatgpt.json"][1][:5]


def test_a_longer_list_keeps_the_ids_of_its_beginning(tmp_path):
    listed = [{"role": "user", "content": "Hi", "refusal": None}] * 3
    first = ids(lines_of(written(tmp_path / "talk.json", listed)))
    longer = ids(lines_of(written(tmp_path / "talk.json", [*listed, *listed])))
    assert len(set(longer)) == 6
    assert longer[:3] == first


def test_a_changed_memory_of_mem0_is_another_message(tmp_path):
    before = ids(lines_of(FILES / "mem0.json"))
    changed = records("mem0.json")
    changed["results"][0] |= {"memory": "Is allergic to nuts", "hash": "0" * 32}
    after = ids(lines_of(written(tmp_path / "mem0.json", changed)))
    assert (before[0] != after[0], before[1] == after[1]) == (True, True)


def test_an_archive_is_read(tmp_path):
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(FILES / "chatgpt.json", "conversations-000.json")
        file.writestr("user.json", "{}")
    assert rows(lines_of(archive)) == READ["chatgpt.json"][1]
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("user.json", "{}")
    with pytest.raises(InvalidInput, match=r"archive without a conversations\.json"):
        recognised(tmp_path / "other.zip")


def archived(path: Path, content: bytes, *, flags: int = 0) -> bytes:
    """Write an archive with a conversations.json, and return its bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", content)
    whole = bytearray(path.read_bytes())
    # The general purpose flags, which are in both headers of the file.
    whole[6] |= flags
    whole[whole.index(b"PK\x01\x02") + 8] |= flags
    path.write_bytes(whole)
    return bytes(whole)


@pytest.mark.parametrize(
    ("mark", "after"),
    [(b"conversations.json", 40), (b"PK\x01\x02", 16), (b"PK\x03\x04", 0), (b"PK\x01\x02", 0)],
)
def test_a_damaged_archive_is_told_where_it_is_read(mark, after, tmp_path):
    path = tmp_path / "export.zip"
    whole = archived(path, (FILES / "chatgpt.json").read_bytes())
    # Of what is packed, of the checksum that is compared at the end, and of both headers.
    place = whole.index(mark) + after
    path.write_bytes(whole[:place] + bytes(4) + whole[place + 4 :])
    with pytest.raises(InvalidInput, match=r"damaged in its archive \(.+\): download or copy"):
        lines_of(path)


def test_a_file_that_cannot_be_read_as_it_is_is_told_with_its_remedy(tmp_path):
    content = (FILES / "chatgpt.json").read_bytes()
    path = tmp_path / "export.zip"
    archived(path, content, flags=1)
    with pytest.raises(InvalidInput, match=r"export\.zip: is encrypted: unpack it"):
        recognised(path)
    half = archived(path, content)[:-200]
    for head, remedy in (
        (half, "is a part of a zip archive: download or copy it again"),
        (gzip.compress(content), "is compressed: `gunzip` it first"),
        (content.decode().encode("utf-16"), "is text in UTF-16: save it in UTF-8"),
        (b"[]", "holds nothing that could be imported"),
        (archived(path, b"[]"), "holds nothing that could be imported"),
        (archived(path, b""), "holds nothing that could be imported"),
    ):
        path.write_bytes(head)
        with pytest.raises(InvalidInput, match=remedy):
            recognised(path)


@pytest.mark.parametrize("indent", [None, 2])
def test_json_may_be_on_one_line_or_on_many_and_begin_with_a_mark(indent, tmp_path):
    path = tmp_path / "anthropic.json"
    text = json.dumps(records("anthropic.json"), indent=indent)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert rows(lines_of(path)) == READ["anthropic.json"][1]
    path = tmp_path / "chatgpt.json"
    path.write_bytes(b"\xef\xbb\xbf " + json.dumps(records("chatgpt.json")).encode())
    assert rows(lines_of(path)) == READ["chatgpt.json"][1]


def test_lines_in_our_own_form_are_left_to_their_reader(tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text('{"session_id": "s", "role": "user", "content": "Hi"}\n')
    assert recognised(own) is None
    own.write_text("oops\n")
    assert recognised(own) is None


@pytest.mark.parametrize("place", ["conversation_id", "session_id", "occurred_at", "external_id"])
def test_a_misspelt_key_does_not_make_our_lines_those_of_another_program(place, tmp_path):
    own = tmp_path / "own.jsonl"
    lines = [
        {"role": "user", "content": "Hi", place: "2026-03-02T09:30:00Z"},
        {"role": "user", "content": "Hi", "occured_at": "2026-03-02T09:31:00Z"},
    ]
    own.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert recognised(own) is None
    with pytest.raises(InvalidInput, match=rf"own form \({place}\): write one message on a line"):
        recognised(written(tmp_path / "own.json", lines))


def test_an_array_of_roles_and_contents_is_recognised_as_messages(tmp_path):
    listed = [
        {"role": "user", "content": "When do we deploy?"},
        {"role": "assistant", "content": "On Tuesdays."},
    ]
    path = written(tmp_path / "talk.json", listed)
    found = recognised(path)
    assert found is not None
    assert found.seen.form == "messages of OpenAI or Anthropic"
    said = [("user", "When do we deploy?"), ("assistant", "On Tuesdays.")]
    assert rows(lines_of(path)) == [("talk", *one) for one in said]
    assert rows(lines_of(path, "team-chat")) == [("team-chat", *one) for one in said]
    path.write_bytes(b"\xef\xbb\xbf\n" + json.dumps(listed, indent=2).encode())
    assert rows(lines_of(path)) == [("talk", *one) for one in said]


def test_an_array_of_messages_with_keys_of_our_own_form_names_the_remedy(tmp_path):
    listed = [{"role": "user", "content": str(place)} for place in range(LOOKED_AT)]
    listed.append({"conversation_id": "c", "session_id": "s", "role": "user", "content": "Hi"})
    with pytest.raises(
        InvalidInput, match=r"own form \(conversation_id, session_id\): write one message on a line"
    ):
        recognised(written(tmp_path / "own.json", listed))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [{"title": "x", "create_time": 1, "update_time": 2}],
            r"it resembles an export of ChatGPT \(create_time, title, update_time\), but lacks "
            r"current_node, mapping",
        ),
        ([{"colour": "red"}], "is in no form that can be imported: .*an export of ChatGPT; "),
        ([1, 2], "is in no form that can be imported"),
    ],
)
def test_an_unknown_form_is_told_with_the_one_that_it_resembles(value, message, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        recognised(written(tmp_path / "x.json", value))


def test_a_file_of_which_nothing_can_be_read_is_named_with_its_form(tmp_path):
    path = written(tmp_path / "x.json", [{"mapping": 7}, {"mapping": None}])
    with pytest.raises(InvalidInput, match="resembles an export of ChatGPT, but conversation 1 "):
        lines_of(path)


def test_broken_json_is_told_after_what_stands_before_it(tmp_path):
    path = tmp_path / "cut.json"
    whole = (FILES / "chatgpt.json").read_bytes()
    path.write_bytes(whole[: whole.index(b'"Broken"')])
    found = recognised(path)
    assert found is not None
    with found.opened() as files:
        windows = found.windows(files)
        assert rows(next(windows)) == READ["chatgpt.json"][1]
        with pytest.raises(InvalidInput, match=r"cut\.json: is broken JSON"):
            next(windows)
    path.write_bytes(b"[{oops")
    with pytest.raises(InvalidInput, match=r"cut\.json: is broken JSON"):
        recognised(path)


def test_a_broken_line_is_told_with_its_number(tmp_path):
    path = tmp_path / "codex.jsonl"
    lines = (FILES / "codex.jsonl").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:4], "{oops", *lines[4:]]))
    found = recognised(path)
    assert found is not None
    with found.opened() as files:
        windows = found.windows(files)
        assert rows(next(windows)) == READ["codex.jsonl"][1][:1]
        with pytest.raises(BadLine, match="line 5: is not JSON"):
            next(windows)


@pytest.mark.parametrize("indent", [None, 1])
def test_half_of_a_pair_of_surrogates_does_not_end_an_import(indent, tmp_path):
    said = [
        "whole \U0001f6a2",
        "cut \ud83d",
        "\udea2 cut",
        r"a path \ud83d",
        'quote \ud83d" \ud83d',
    ]
    talk = {"messages": [{"role": "user", "content": text} for text in said]}
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(talk, indent=indent))
    found = ["whole \U0001f6a2", "cut ?", "? cut", r"a path \ud83d", 'quote ?" ?']
    assert [text for *_, text in rows(lines_of(path))] == found


def test_a_line_that_is_being_written_is_left_for_the_next_import(tmp_path):
    path = tmp_path / "codex.jsonl"
    path.write_text((FILES / "codex.jsonl").read_text(encoding="utf-8") + '{"timestamp": "2025')
    assert rows(lines_of(path)) == READ["codex.jsonl"][1]


def test_an_import_goes_on_after_a_position_and_notices_another_file(tmp_path):
    whole = lines_of(FILES / "chatgpt.json")
    found = recognised(FILES / "chatgpt.json")
    assert found is not None
    after = FilePosition(whole[2].number, whole[2].end, whole[2].sha256)
    with found.opened() as files:
        rest = [line for window in found.windows(files, after) for line in window]
    assert ids(rest) == ids(whole[3:])
    other = recognised(FILES / "claude.json")
    assert other is not None
    with other.opened() as files, pytest.raises(FileChanged, match="its first 3 messages changed"):
        list(other.windows(files, after))


def test_a_message_that_cannot_be_remembered_is_left_out_with_its_reason(tmp_path):
    listed = [
        {"role": "user", "content": "Hi", "id": "1"},
        {"role": "boss", "content": "No", "id": "2"},
        {"role": "user", "content": "Later", "id": "3", "created_at": 9_999_999_999},
    ]
    found = recognised(written(tmp_path / "x.json", listed))
    assert found is not None
    with found.opened() as files:
        [[line]] = list(found.windows(files, BEGINNING))
    assert line.message.content == "Hi"
    assert sum(found.seen.left_out.values()) == 2
    assert any("lies in the future" in reason for reason in found.seen.left_out)
    of_role = "role: invalid enum value 'boss'; it is one of ai, assistant, developer, function"
    assert any(of_role in reason for reason in found.seen.left_out)


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_a_unix_time_may_be_finer_than_seconds(unit, tmp_path):
    said = {"role": "user", "content": "Hi", "created_at": 1_709_287_200 * unit}
    (line,) = lines_of(written(tmp_path / "talk.json", [said]))
    assert line.message.occurred_at == datetime(2024, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("time", ["03/01/2024", "Fri Mar 01 2024 10:00:00 GMT+0100", {"s": 1}])
def test_a_time_in_an_unknown_form_is_counted(time, tmp_path):
    said = [
        {"role": "user", "content": "Hi", "created_at": "2024-03-01T10:00:00Z"},
        {"role": "user", "content": "Ho", "created_at": time},
        {"role": "user", "content": "Hey", "created_at": ""},
    ]
    found = recognised(written(tmp_path / "talk.json", said))
    assert found is not None
    with found.opened() as files:
        lines = [line for window in found.windows(files) for line in window]
    assert {line.message.occurred_at for line in lines} == {datetime(2024, 3, 1, 10, tzinfo=UTC)}
    assert dict(found.seen.left_out) == {UNKNOWN_TIME: 1}


ODD = (7, ["x"], {"a": 1})
"""Values that a reader may not expect, of each kind of JSON."""


def changed_once(value: Any, odd: Any) -> Iterator[Any]:
    """Yield a value of JSON as often as it has values in it, each time with an odd one in place of one."""
    yield odd
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    )
    for key, one in list(inner):
        for other in changed_once(one, odd):
            value[key] = other
            yield value
        value[key] = one


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("name", sorted(READ))
def test_an_odd_value_anywhere_is_read_counted_or_told(name, odd, tmp_path):
    path, text = tmp_path / name, (FILES / name).read_text(encoding="utf-8")
    lines = text.splitlines() if name.endswith("jsonl") else [text]
    for changed in changed_once([json.loads(line) for line in lines], odd):
        path.write_text(
            "\n".join(map(json.dumps, changed if isinstance(changed, list) else [changed]))
        )
        with suppress(InvalidInput):
            if found := recognised(path):
                with found.opened() as files:
                    list(found.windows(files))


def test_what_is_nested_too_deeply_is_counted_or_told(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text('[{"role": "user", "content": ' + "[" * 3000 + "]" * 3000 + "}]")
    found = recognised(path)
    assert found is not None
    with found.opened() as files:
        assert list(found.windows(files)) == []
    assert list(found.seen.left_out) == ["message that is nested too deeply to be read"]
    # After a line that tells the form.
    whole = (FILES / "openai.jsonl").read_text(encoding="utf-8")
    path.write_text(whole + '{"messages": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(InvalidInput, match=r"talk\.jsonl: is nested too deeply to be read"):
        lines_of(path)


def test_the_position_in_bytes_ends_with_the_file():
    assert lines_of(FILES / "codex.jsonl")[-1].end == (FILES / "codex.jsonl").stat().st_size


def test_ids_of_other_programs_become_ids_that_are_allowed(tmp_path):
    named = {"thread_id": "team/chat ü", "messages": [{"role": "user", "content": "Hi"}]}
    [line] = lines_of(written(tmp_path / "x.json", named))
    assert line.conversation_id.startswith("team-chat-")
