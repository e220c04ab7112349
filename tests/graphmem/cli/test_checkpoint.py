import stat

from graphmem import config
from graphmem.cli.lines import Acknowledged, Checkpoint, FilePosition, checkpoint

ACKNOWLEDGED = Acknowledged(FilePosition(250, 9_000, "a" * 64), "m1")


def test_what_was_written_is_read_until_it_is_removed(tmp_path):
    kept = Checkpoint(tmp_path / "imports" / "one.json")
    assert kept.read() is None
    kept.write(ACKNOWLEDGED)
    assert kept.read() == ACKNOWLEDGED
    kept.remove()
    assert kept.read() is None


def test_it_is_its_owner_s_alone(tmp_path):
    Checkpoint(tmp_path / "imports" / "one.json").write(ACKNOWLEDGED)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")]
    assert modes == [0o700, 0o600]


def test_a_file_that_is_no_checkpoint_counts_as_none(tmp_path):
    path = tmp_path / "one.json"
    for content in (b"", b"{}", b'{"place": {"lines": "many"}}', b"\xff"):
        path.write_bytes(content)
        assert Checkpoint(path).read() is None


def test_where_it_cannot_be_written_a_warning_says_so_once(tmp_path, caplog):
    (tmp_path / "imports").write_text("a file stands where the folder should")
    kept = Checkpoint(tmp_path / "imports" / "one.json")
    kept.write(ACKNOWLEDGED)
    kept.write(ACKNOWLEDGED)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "would start over" in caplog.text


def test_another_file_client_conversation_or_database_has_another(tmp_path):
    def key(file="talk.jsonl", client_id="a", conversation_id=None, **given) -> str:
        settings = config.load({}, data_dir=tmp_path, **given)
        return checkpoint(tmp_path / file, client_id, conversation_id, settings)._path.name

    keys = [
        key(),
        key(file="other.jsonl"),
        key(client_id="b"),
        key(conversation_id="c"),
        key(neo4j_uri="bolt://127.0.0.1:7687"),
        key(neo4j_uri="bolt://127.0.0.1:7687", neo4j_database="second"),
    ]
    assert len(set(keys)) == len(keys)
    assert key(file="./talk.jsonl") == key()
