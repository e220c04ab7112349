"""A client is exported and imported by commands, which go on where they were interrupted."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bench.store import Corpus, fill, words
from graphmem.cli.export import ExportReport, _show
from graphmem.cli.import_file import _show_loaded
from graphmem.exports.lines import beginning, check
from graphmem.exports.load import ImportedExport
from graphmem.runtime import Runtime

MEMORIES = 3_000
COUNTED = """CYPHER 25
MATCH (memory:Memory {client_id: $client})
RETURN count(memory) AS memories, count(DISTINCT memory.id) AS ids, count(memory.embedding) AS vectors"""
PLACE = "MATCH (client:Client {client_id: $client}) RETURN client.import_place AS place"


def told(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_export_of_a_client_that_has_nothing_says_so(invoke, client_id, tmp_path):
    result = invoke("export", str(tmp_path / "x.jsonl"), "--client", client_id)
    assert result.exit_code == 0, result.output
    told = result.stdout.splitlines()[-1]
    assert (
        told
        == f"nothing is stored of a client {client_id!r}: the file has no memory; --client names another"
    )


def test_a_client_is_exported_and_imported_under_another_name(invoke, client_id, story, tmp_path):
    told(invoke("import", str(story), "--client", client_id, "--json"))
    file = tmp_path / "client.jsonl"
    exported = told(invoke("export", str(file), "--client", client_id, "--json"))
    copy = f"{client_id}-copy"
    imported = told(invoke("import", str(file), "--client", copy, "--json"))

    assert file.stat().st_mode & 0o777 == 0o600
    assert (imported["nodes"], imported["edges"]) == (exported["nodes"], exported["edges"])
    assert (imported["client_id"], imported["embedded"], imported["changed"]) == (copy, 0, False)
    found = invoke("recall", "who keeps the lighthouse?", "--client", copy)
    assert "The lighthouse keeper is called Ansgar." in found.stdout
    refused = invoke("import", str(file))
    assert refused.exit_code == 2
    assert f"client '{client_id}' has memories already" in refused.stderr
    refused = invoke("export", str(file), "--client", client_id)
    assert "is there already: --restart replaces it" in refused.stderr
    refused = invoke("import", str(file), "--conversation", "c")
    assert "takes none of --conversation, --restart and --dry-run" in refused.stderr


LOADED = ImportedExport(
    client_id="acme",
    nodes=2,
    edges=0,
    embedded=0,
    resumed=False,
    changed=False,
    legal_hold=None,
)


def test_both_commands_tell_of_memories_that_were_added_or_deleted(capsys: Any) -> None:
    report = ExportReport(nodes=2, edges=0, bytes=9, changed=True, continued=False, seconds=0.1)
    _show(report)
    _show_loaded(replace(LOADED, changed=True))
    said = capsys.readouterr().out
    assert "memories or conversations were added or deleted meanwhile" in said
    assert "memories or conversations were added or deleted during the export" in said


def test_an_import_tells_of_a_legal_hold(capsys: Any) -> None:
    _show_loaded(replace(LOADED, legal_hold="case 116"))
    assert "the client is under a legal hold (case 116): no memory of it" in capsys.readouterr().out


def test_an_interrupted_export_is_continued(invoke, client_id, story, tmp_path):
    told(invoke("import", str(story), "--client", client_id, "--json"))
    file, part = tmp_path / "client.jsonl", tmp_path / "client.jsonl.part"
    told(invoke("export", str(file), "--client", client_id, "--json"))
    whole = file.read_bytes()
    ends = [at for at, line in enumerate(whole.splitlines()) if line.startswith(b'{"page"')]
    beginning_of_it = b"\n".join(whole.splitlines()[: ends[1] + 2])
    file.unlink()
    part.write_bytes(beginning_of_it)
    other = invoke("export", str(file), "--client", "another")
    assert "the beginning of an export of another client" in other.stderr
    again = told(invoke("export", str(file), "--client", client_id, "--json"))

    assert again["continued"]
    assert file.read_bytes() == whole
    assert not part.exists()


async def test_kill_9_costs_neither_an_export_nor_an_import_anything(
    runtime: Runtime,
    started: Callable[..., Any],
    graphmem: Callable[..., Any],
    client_id: str,
    tmp_path: Path,
    killed_processes: None,
    bulk_data: None,
) -> None:
    vocabulary, shares = words()
    vectors = np.random.default_rng(7).normal(size=(50, 384))
    await fill(runtime, Corpus(vocabulary, shares, [], vectors), client_id, MEMORIES, 3)
    file, part = tmp_path / "client.jsonl", tmp_path / "client.jsonl.part"
    exporting = started("export", str(file), "--client", client_id)
    until(lambda: part.exists() and (found := beginning(part)) and found.page, exporting)
    exporting.send_signal(signal.SIGKILL)
    exporting.wait(timeout=60)
    done = graphmem("export", str(file), "--client", client_id, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["continued"]
    assert check(file).end.nodes == MEMORIES

    copy = f"{client_id}-copy"
    importing = started("import", str(file), "--client", copy)
    graph = runtime.graph
    while not [row for row in await graph.execute(PLACE, client=copy) if row["place"]]:
        assert importing.poll() is None, importing.stdout.read()
    importing.send_signal(signal.SIGKILL)
    importing.wait(timeout=60)
    imported = graphmem("import", str(file), "--client", copy, "--json")
    assert imported.returncode == 0, imported.stderr
    assert json.loads(imported.stdout)["resumed"]
    [row] = await graph.execute(COUNTED, client=copy)
    assert row == {"memories": MEMORIES, "ids": MEMORIES, "vectors": MEMORIES}


def until(holds: Callable[[], Any], process: Any) -> None:
    """Wait until something holds, while a program is at work."""
    while not holds():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
