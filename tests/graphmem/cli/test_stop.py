import json

from graphmem.server.folder import UseLock


def test_where_nothing_runs_nothing_is_stopped(invoke, tmp_path):
    folder = tmp_path / "data"
    result = invoke("stop", "--data-dir", str(folder))
    assert (result.exit_code, result.stdout) == (0, f"no private Neo4j runs in {folder}\n")
    told = json.loads(invoke("stop", "--data-dir", str(folder), "--json").stdout)
    assert told == {"stopped": False, "data_dir": str(folder)}


def test_a_server_that_is_used_is_left_alone(invoke, tmp_path):
    use = UseLock(tmp_path)
    use.take()
    try:
        result = invoke("stop", "--data-dir", str(tmp_path))
    finally:
        use.release()
    assert result.exit_code == 2
    assert "another process uses the server" in result.stderr


def test_a_server_that_runs_is_stopped(invoke, tmp_path, monkeypatch):
    async def stopped(data_dir) -> bool:
        return data_dir == tmp_path

    monkeypatch.setattr("graphmem.server.private.stop", stopped)
    result = invoke("stop", "--data-dir", str(tmp_path))
    assert (result.exit_code, result.stdout) == (0, f"the private Neo4j of {tmp_path} is stopped\n")
