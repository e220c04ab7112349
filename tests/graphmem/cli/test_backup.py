"""A backup of a running private Neo4j, and its store destroyed afterwards: what was acknowledged is back."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from graphmem.cli.backup import Restored, _back_up, _copied, _restore, _show_restored
from graphmem.cli.main import commands
from graphmem.client import Graphmem
from graphmem.config import Settings, load
from graphmem.errors import InvalidInput, ServerFailed, StoreUnreadable
from graphmem.memories.write import Prepared, write
from graphmem.model.times import present
from graphmem.runtime import Runtime, running
from graphmem.server import backup as backup_module, private
from graphmem.server.backup import (
    MANIFEST,
    BackupDamaged,
    Manifest,
    _copy_tree,
    begin_backup,
    copy_store,
    described,
    end_backup,
    read_manifest,
    restore_store,
    suspended,
)
from graphmem.server.folder import BackupNote, home, incoming, lacks_restored, read_backup_note
from tests.planted import draft

SAID: Any = {"session_id": "s", "role": "user", "content": "The spare key is under the fern."}
WRITTEN = """CYPHER 25
MATCH (memory:Memory {client_id: 'beside'})
WHERE memory.embedding IS NOT NULL AND memory.scope_words IS NOT NULL
RETURN collect(memory.id) AS ids"""
WRITERS = 8
EMPTY_BESIDE = "MATCH (node {client_id: 'beside'}) DETACH DELETE node"
ANY = "MATCH (node) WHERE node.client_id IS NOT NULL RETURN node.client_id AS id LIMIT 1"
EMPTY = "MATCH (node) WHERE node.client_id IS NOT NULL DETACH DELETE node"


@pytest.fixture
def own(tmp_path: Path, own_server: None) -> Settings:
    """Settings of a small private Neo4j of the test's own."""
    return load(
        data_dir=tmp_path / "data",
        neo4j_heap="512m",
        neo4j_page_cache="64m",
        neo4j_start_seconds=600,
    )


async def write_on(runtime: Runtime, acknowledged: list[str], begun: list[str]) -> None:
    """Write one memory after the other for ever; remember those that were begun, and acknowledged."""
    [embedding] = await runtime.embedder.passages(["An entry."])
    while True:
        one = Prepared(draft("beside", "fact", f"Entry {len(begun)}."), embedding, 3)
        begun.append(one.draft.id)
        await runtime.graph.write(partial(write, memories=[one], client_id="beside"))
        acknowledged.append(one.draft.id)


async def test_what_was_acknowledged_before_a_backup_is_there_after_the_store_was_destroyed(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged: list[str] = []
    begun: list[str] = []
    at_its_moment: list[set[str]] = []

    @contextlib.contextmanager
    def suspended_and_noted(process: psutil.Process) -> Iterator[None]:
        with suspended(process):
            at_its_moment.append(set(acknowledged))
            yield

    monkeypatch.setattr(backup_module, "suspended", suspended_and_noted)
    async with running(own) as runtime:
        memory = Graphmem(runtime, "ann")
        await memory.open_conversation("c")
        await memory.remember("c", [SAID])
        writing = [
            asyncio.create_task(write_on(runtime, acknowledged, begun)) for _ in range(WRITERS)
        ]
        while len(acknowledged) < 200:
            await asyncio.sleep(0.01)
        made = await _back_up(tmp_path / "backup", own)
        after = set(begun)
        while len(acknowledged) < len(after) + 20:
            await asyncio.sleep(0.01)
        for one in writing:
            one.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        with pytest.raises(InvalidInput, match="is not empty"):
            await _back_up(tmp_path / "backup", own)
    assert (made.kind, made.clients, made.paused_seconds > 0) == ("store", [], True)

    shutil.rmtree(home(own.data_dir) / "data")
    (own.data_dir / "password").unlink()
    assert (
        await restore_store(own.data_dir, tmp_path / "backup", replace=False, now=present()) is None
    )
    async with running(own) as runtime:
        [row] = await runtime.graph.execute(WRITTEN)
        assert at_its_moment[0] <= set(row["ids"]) <= after
        found = await Graphmem(runtime, "ann").recall("Where is the spare key?")
        assert found.items[0].text == SAID["content"]
        await runtime.graph.execute(EMPTY_BESIDE)
        await export_and_import(runtime, own, tmp_path)


async def export_and_import(runtime: Runtime, own: Settings, tmp_path: Path) -> None:
    """Back up as for a Neo4j of the user's own, empty the database, and restore it."""
    record = private.status(own.data_dir)
    assert record is not None
    password = (own.data_dir / "password").read_text().strip()
    users = replace(own, neo4j_uri=f"bolt://127.0.0.1:{record.port}", neo4j_password=password)
    ben = Graphmem(runtime, "Ben")
    await ben.remember_fact("Ben collects maps", category="user_fact")
    await ben.begin_hold("case 117")
    made = await _back_up(tmp_path / "exports", users)
    assert (made.kind, made.clients, made.files) == ("exports", ["Ben", "ann"], 2)
    await runtime.graph.execute(EMPTY)

    other = await changed(tmp_path / "exports", tmp_path / "changed")
    with pytest.raises(BackupDamaged, match=r"store/000001\.jsonl is not as it was"):
        await _restore(other, False, users)
    assert await runtime.graph.execute(ANY) == []
    restored = await _restore(tmp_path / "exports", False, users)
    assert (restored.memories, restored.left_alone) == (2, [])
    assert restored.legal_holds == {"Ben": "case 117"}
    again = await _restore(tmp_path / "exports", False, users)
    assert again.left_alone == ["Ben", "ann"]
    found = await Graphmem(runtime, "ann").recall("Where is the spare key?")
    assert found.items[0].text == SAID["content"]
    with pytest.raises(InvalidInput, match="unset GRAPHMEM_NEO4J_URI"):
        await _restore(tmp_path / "backup", False, users)


async def changed(backup: Path, into: Path) -> Path:
    """Copy a backup of exports, and the first client's file over the second one's; return the copy."""
    await asyncio.to_thread(shutil.copytree, backup, into)
    shutil.copyfile(into / "store" / "000000.jsonl", into / "store" / "000001.jsonl")
    return into


async def test_exports_that_are_not_as_they_were_are_refused_before_anything_is_imported(
    tmp_path: Path,
) -> None:
    backup, users = tmp_path / "exports", load(neo4j_uri="bolt://127.0.0.1:1", neo4j_password="x")
    begin_backup(backup)
    last = backup / "store" / "000001.jsonl"
    for path in (backup / "store" / "000000.jsonl", last):
        path.write_text(path.name)
    files = [described(path, backup) for path in sorted((backup / "store").iterdir())]
    whole = Manifest(kind="exports", made_at=present(), files=files)
    end_backup(backup, whole)

    last.write_text("000002.jsonl")
    with pytest.raises(BackupDamaged, match=r"000001\.jsonl is not as it was: its SHA-256"):
        await _restore(backup, False, users)
    last.unlink()
    with pytest.raises(BackupDamaged, match=r"the file store/000001\.jsonl is missing"):
        await _restore(backup, False, users)
    outside = replace(files[0], path="../secret")
    end_backup(backup, replace(whole, files=[files[0], outside]))
    with pytest.raises(BackupDamaged, match="outside of it"):
        await _restore(backup, False, users)


def test_a_restore_tells_of_the_legal_holds_that_it_has_brought(capsys: Any) -> None:
    restored = Restored(
        kind="exports",
        made_at=present(),
        memories=2,
        left_alone=[],
        put_aside=None,
        legal_holds={"Ben": "case 117"},
    )
    _show_restored(restored)
    assert "client Ben is under a legal hold (case 117): no memory" in capsys.readouterr().out


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """A data folder with a store that no server uses."""
    data_dir = tmp_path / "data"
    for name in ("databases/neo4j/nodes", "transactions/neo4j/log.0"):
        path = home(data_dir) / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    (data_dir / "password").write_text("one\n")
    return data_dir


async def backed_up(data_dir: Path, backup: Path) -> Path:
    begin_backup(backup)
    copied = await copy_store(data_dir, backup)
    assert copied.paused_seconds == 0
    end_backup(backup, Manifest(kind="store", made_at=present(), files=copied.files))
    return backup


async def test_a_store_that_is_there_is_put_aside_or_stays(quiet: Path, tmp_path: Path) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    nodes = home(quiet) / "data" / "databases" / "neo4j" / "nodes"
    nodes.write_text("written since")
    (quiet / "password").write_text("two\n")
    with pytest.raises(InvalidInput, match="--replace puts it aside"):
        await restore_store(quiet, backup, replace=False, now=present())
    assert nodes.read_text() == "written since"
    assert read_backup_note(quiet) is None
    now = present()
    aside = await restore_store(quiet, backup, replace=True, now=now)

    note = BackupNote(read_manifest(backup).made_at, str(backup), now)
    assert read_backup_note(quiet) == note
    assert aside is not None
    assert nodes.read_text() == "databases/neo4j/nodes"
    assert (aside / "store" / "databases" / "neo4j" / "nodes").read_text() == "written since"
    assert ((quiet / "password").read_text(), (aside / "password").read_text()) == (
        "one\n",
        "two\n",
    )


async def test_a_restore_that_was_interrupted_is_named_until_it_is_repeated(
    quiet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    damaged = tmp_path / "damaged"
    shutil.copytree(backup, damaged)
    (damaged / "password").write_text("another\n")

    def end(data_dir: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(backup_module, "remove_record", end)
    with pytest.raises(KeyboardInterrupt):
        await restore_store(quiet, backup, replace=True, now=present())
    monkeypatch.undo()
    assert lacks_restored(quiet)
    with pytest.raises(BackupDamaged):
        await restore_store(quiet, damaged, replace=True, now=present())
    assert lacks_restored(quiet)
    left = incoming(quiet) / "store" / "left"
    left.write_text("left")

    await restore_store(quiet, backup, replace=True, now=present())
    assert not lacks_restored(quiet)
    store = home(quiet) / "data"
    assert {str(path.relative_to(store)) for path in everything(store)} == {
        "databases/neo4j/nodes",
        "transactions/neo4j/log.0",
    }


async def test_a_backup_that_is_not_whole_replaces_nothing(quiet: Path, tmp_path: Path) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    nodes = backup / "store" / "databases" / "neo4j" / "nodes"
    nodes.write_text("databases/neo4j/knots")
    with pytest.raises(BackupDamaged, match="its SHA-256 is another"):
        await restore_store(quiet, backup, replace=True, now=present())
    nodes.unlink()
    with pytest.raises(BackupDamaged, match="nodes is missing"):
        await restore_store(quiet, backup, replace=True, now=present())
    (backup / MANIFEST).unlink()
    with pytest.raises(BackupDamaged, match="is no backup"):
        await restore_store(quiet, backup, replace=True, now=present())
    stored = home(quiet) / "data" / "databases" / "neo4j" / "nodes"
    assert stored.read_text() == "databases/neo4j/nodes"


async def test_nothing_is_copied_before_everything_is_checked(quiet: Path, tmp_path: Path) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    stages: list[str] = []

    def progress(stage: str, done: int = 0, total: int = 0) -> None:
        if stage not in stages:
            stages.append(stage)

    async def restore(*, replace: bool) -> None:
        stages.clear()
        await restore_store(quiet, backup, replace=replace, now=present(), progress=progress)

    with pytest.raises(InvalidInput, match="--replace puts it aside"):
        await restore(replace=False)
    assert stages == []
    await restore(replace=True)
    assert stages == ["checking the backup", "copying the store"]
    (backup / "store" / "transactions" / "neo4j" / "log.0").write_text("another")
    with pytest.raises(BackupDamaged, match="its SHA-256 is another"):
        await restore(replace=True)
    assert stages == ["checking the backup"]
    assert not list(home(quiet).glob("data.incoming"))


async def test_a_backup_names_nothing_outside_of_it(quiet: Path, tmp_path: Path) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    outside = replace(described(secret, tmp_path), path="../secret")
    end_backup(backup, Manifest(kind="store", made_at=present(), files=[outside]))
    with pytest.raises(BackupDamaged, match="outside of it"):
        await restore_store(quiet, backup, replace=True, now=present())


async def test_an_interrupted_backup_can_be_made_again(quiet: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    begin_backup(backup)
    for name in ("store/half", "password", ".password.0123abcd"):
        (backup / name).write_text("half")
    await backed_up(quiet, backup)
    assert {path.name for path in backup.iterdir()} == {"store", "password", MANIFEST}
    assert not (backup / "store" / "half").exists()
    assert [one.path for one in read_manifest(backup).files] == [
        "password",
        "store/databases/neo4j/nodes",
        "store/transactions/neo4j/log.0",
    ]


async def test_a_backup_takes_nothing_away_that_no_backup_has_left(
    quiet: Path, tmp_path: Path
) -> None:
    backup = await backed_up(quiet, tmp_path / "backup")
    aside = await restore_store(quiet, backup, replace=True, now=present())
    assert aside is not None
    other = tmp_path / "other"
    written(other / "store" / "precious", "precious", ago=0)
    unfinished = tmp_path / "unfinished"
    begin_backup(unfinished)
    (unfinished / "notes").write_text("mine")
    for folder in (aside, other, unfinished, backup):
        before = everything(folder)
        with pytest.raises(InvalidInput, match="is not empty: name a new folder for each backup"):
            begin_backup(folder)
        assert everything(folder) == before


@pytest.mark.parametrize("through", ["", "linked", "elsewhere/.."])
def test_a_folder_inside_of_the_store_is_refused_and_nothing_is_made(
    quiet: Path, tmp_path: Path, through: str
) -> None:
    (tmp_path / "linked").symlink_to(home(quiet) / "data")
    (tmp_path / "elsewhere").mkdir()
    inside = tmp_path / through / "data" / "neo4j" / "data" / "backup"
    if through == "linked":
        inside = tmp_path / "linked" / "databases" / "backup"
    before = everything(quiet)
    result = invoked("backup", str(inside), "--data-dir", str(quiet))
    assert result.exit_code == 2
    assert f"{inside}: is in {home(quiet)}, which would be copied into itself" in result.stderr
    assert everything(quiet) == before
    assert not inside.exists()


def test_a_folder_beside_the_store_is_taken(quiet: Path) -> None:
    result = invoked("backup", str(quiet / "backup"), "--data-dir", str(quiet))
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in (quiet / "backup").iterdir()} == {"store", "password", MANIFEST}


def everything(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files in a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def written(path: Path, text: str, *, ago: float) -> None:
    """Write a file, as if it had been some seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    moment = time.time() - ago
    os.utime(path, (moment, moment))


def test_the_second_copy_has_what_changed_since_the_first(tmp_path: Path) -> None:
    store, into = tmp_path / "store", tmp_path / "into"
    into.mkdir()
    for name in ("still", "changed", "longer", "gone", "a/b/changed just now"):
        written(store / name, "before", ago=0 if "now" in name else 100)
    first = _copy_tree(store, into, {})
    assert set(map(str, first)) == {"still", "changed", "longer", "gone"}

    written(into / "still", "not copied again", ago=0)
    written(store / "changed", "behind", ago=50)
    written(store / "longer", "before and behind", ago=100)
    just_now = store / "a/b/changed just now"
    kept = just_now.stat().st_mtime_ns
    just_now.write_text("behind")
    os.utime(just_now, ns=(kept, kept))
    (store / "gone").unlink()
    written(store / "c/new", "new", ago=100)
    written(store / "store_lock", "", ago=100)
    _copy_tree(store, into, first)

    copies = {str(path.relative_to(into)): path for path in into.rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in copies.items()} == {
        "still": "not copied again",
        "changed": "behind",
        "longer": "before and behind",
        "a/b/changed just now": "behind",
        "c/new": "new",
    }


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments)


def test_a_start_that_fails_after_the_copy_says_that_the_copy_is_whole() -> None:
    whole = Manifest(kind="store", made_at=present(), files=[])
    with pytest.raises(ServerFailed, match=r"copy is whole.*did not answer"), _copied(whole):
        raise ServerFailed("Neo4j did not answer within 120 s")
    with pytest.raises(StoreUnreadable, match=r"^Neo4j cannot open"), _copied(whole):
        raise StoreUnreadable("Neo4j cannot open its store")


def test_a_folder_without_a_store_is_named(tmp_path: Path) -> None:
    result = invoked("backup", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "nothing"))
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: there is no store in")


COUNT = "import itertools, sys, time\nfor n in itertools.count():\n    print(n, flush=True); time.sleep(.001)"
SUSPEND = """\
import sys, time, psutil
from graphmem.server.backup import suspended
with suspended(psutil.Process(int(sys.argv[1]))):
    print("suspended", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def counting() -> Any:
    """A process that counts."""
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def is_suspended(process: "subprocess.Popen[str]") -> bool:
    return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_is_suspended_for_the_block_and_goes_on_afterwards(counting: Any) -> None:
    with contextlib.suppress(KeyError), suspended(psutil.Process(counting.pid)):
        assert is_suspended(counting)
        raise KeyError
    until(lambda: not is_suspended(counting))


def test_a_process_goes_on_if_who_suspended_it_is_killed(
    counting: Any, killed_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    suspending = subprocess.Popen(
        [sys.executable, "-c", SUSPEND, str(counting.pid)], stdout=subprocess.PIPE, text=True
    )
    assert suspending.stdout is not None
    assert suspending.stdout.readline() == "suspended\n"
    assert is_suspended(counting)
    suspending.send_signal(signal.SIGKILL)
    suspending.communicate()
    until(lambda: not is_suspended(counting))
