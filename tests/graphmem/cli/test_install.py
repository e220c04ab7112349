"""`graphmem install`: the entry in a program's own file, beside what was there, and out of it again."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from graphmem.cli.install import PROGRAMS, folders
from graphmem.cli.main import commands
from graphmem.embedding import NEEDED_FILES

Run = Callable[..., Result]

FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/opencode.json",
}
BEFORE: dict[str, dict[str, Any]] = {
    "claude-code": {
        "numStartups": 7,
        "mcpServers": {"other": {"type": "stdio", "command": "x", "args": []}},
        "projects": {"/home/ü": {"allowedTools": []}},
    },
    "claude-desktop": {"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}}},
    "cursor": {"mcpServers": {"files": {"url": "http://localhost:1/mcp"}}},
    "vscode": {"inputs": [{"id": "key", "type": "promptString"}], "servers": {}},
    "opencode": {"$schema": "https://opencode.ai/config.json", "theme": "dark"},
}
TOML = """\
# my settings
model = "gpt-5"   # the large one

[mcp_servers.files]
command = "npx"
args = ["-y", "files"]

[tui]
theme = "dark"
"""
SECTION = {name: program.section for name, program in PROGRAMS.items()}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user on Linux."""
    monkeypatch.setattr("graphmem.cli.install.sys.platform", "linux")
    monkeypatch.setattr("graphmem.cli.install.shutil.which", lambda name: "/opt/bin/graphmem")
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("GRAPHMEM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(home: Path) -> Run:
    """Run a command in this process."""
    return lambda *arguments, said=None: CliRunner().invoke(commands, arguments, input=said)


def written(home: Path, program: str) -> dict[str, Any]:
    """Return the servers in a program's file."""
    text = (home / FILES[program]).read_text("utf-8")
    settings = tomllib.loads(text) if program == "codex" else json.loads(text)
    servers: dict[str, Any] = settings[SECTION[program]]
    return servers


def put(home: Path, program: str) -> str:
    """Write a file of the true shape; return its text."""
    path = home / FILES[program]
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = json.dumps(BEFORE.get(program), indent=4, ensure_ascii=False) + "\n"
    path.write_text(TOML if program == "codex" else plain, "utf-8")
    return path.read_text("utf-8")


ARGUMENTS = ["mcp", "--client", "work", "--tools", "recall,runs", "--read-only"]
STARTED: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "stdio", "command": "/opt/bin/graphmem", "args": ARGUMENTS},
    "claude-desktop": {"command": "/opt/bin/graphmem", "args": ARGUMENTS},
    "cursor": {"command": "/opt/bin/graphmem", "args": ARGUMENTS},
    "vscode": {"type": "stdio", "command": "/opt/bin/graphmem", "args": ARGUMENTS},
    "codex": {"command": "/opt/bin/graphmem", "args": ARGUMENTS},
    "opencode": {"type": "local", "command": ["/opt/bin/graphmem", *ARGUMENTS], "enabled": True},
}
URL = "http://localhost:8000/mcp"
AT_URL: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${THE_KEY}"}},
    "cursor": {"url": URL, "headers": {"Authorization": "Bearer ${env:THE_KEY}"}},
    "vscode": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${env:THE_KEY}"}},
    "codex": {"url": URL, "bearer_token_env_var": "THE_KEY"},
    "opencode": {
        "type": "remote",
        "url": URL,
        "headers": {"Authorization": "Bearer {env:THE_KEY}"},
        "enabled": True,
    },
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_starts_the_memory_and_can_be_rid_of_it(
    home: Path, run: Run, program: str
) -> None:
    before = put(home, program)
    wish = ("--client", "work", "--tools", "recall,runs", "--read-only")
    result = run("install", program, *wish, "--yes")
    assert result.exit_code == 0, result.output
    servers = written(home, program)
    assert servers["graphmem"] == STARTED[program]
    assert "other" in servers or "files" in servers or program in {"vscode", "opencode"}

    again = run("install", program, *wish, "--yes")
    assert again.output == f"{PROGRAMS[program].title} needs no change\n"
    assert run("uninstall", program, "--yes").exit_code == 0
    after = (home / FILES[program]).read_text("utf-8")
    if program == "vscode":
        assert json.loads(after) == {"inputs": BEFORE["vscode"]["inputs"]}
    else:
        assert after == before


def test_a_command_that_could_not_start_is_not_written(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = put(home, "cursor")
    monkeypatch.setattr("graphmem.cli.mcp.find_spec", lambda name: None)
    refused = run("install", "cursor", "--yes")
    assert refused.exit_code == 2
    assert "pip install 'graphmem[mcp]'" in refused.output
    assert (home / FILES["cursor"]).read_text("utf-8") == before
    # A service has its own installation.
    assert run("install", "cursor", "--url", URL, "--yes").exit_code == 0


@pytest.mark.parametrize("program", AT_URL)
def test_a_program_asks_a_running_service_without_a_key_in_its_file(
    home: Path, run: Run, program: str
) -> None:
    result = run("install", program, "--url", URL, "--key-variable", "THE_KEY", "--yes")
    assert result.exit_code == 0, result.output
    assert written(home, program) == {"graphmem": AT_URL[program]}


def test_the_wishes_of_an_address_are_kept(home: Path, run: Run) -> None:
    run("install", "cursor", "--url", f"{URL}?structured=true", "--tools", "recall", "--yes")
    assert written(home, "cursor")["graphmem"]["url"] == f"{URL}?structured=true&tools=recall"


def test_what_the_environment_sets_is_written_but_no_password(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    (home / "model").mkdir()
    for name in NEEDED_FILES:
        (home / "model" / name).touch()
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", "memories")
    monkeypatch.setenv("GRAPHMEM_EMBEDDING_MODEL", "./model")
    monkeypatch.setenv("GRAPHMEM_NEO4J_URI", "bolt://db:7687")
    monkeypatch.setenv("GRAPHMEM_NEO4J_PASSWORD", "secret")
    result = run("install", "claude-code", "--yes")
    options = ["--data-dir", str(home / "memories"), "--neo4j-uri", "bolt://db:7687"]
    options += ["--embedding-model", str(home / "model")]
    entry = written(home, "claude-code")["graphmem"]
    assert entry["args"] == ["mcp", "--client", "default", *options]
    assert hooks_of(home)["SessionStart"][0].endswith(f"--client default {' '.join(options)}")
    assert "not written: GRAPHMEM_NEO4J_PASSWORD" in result.output
    assert "secret" not in (home / FILES["claude-code"]).read_text("utf-8")
    # A service has its own settings.
    result = run("install", "claude-code", "--url", URL, "--yes")
    assert "not written" not in result.output
    assert "args" not in written(home, "claude-code")["graphmem"]
    assert "--data-dir" not in hooks_of(home)["SessionStart"][0]


@pytest.mark.parametrize("url", ["http://localhost:8000", "http://localhost:8000/", f"{URL}/"])
def test_the_address_of_a_service_is_completed(home: Path, run: Run, url: str) -> None:
    run("install", "claude-code", "--url", url, "--read-only", "--yes")
    assert written(home, "claude-code")["graphmem"]["url"] == f"{URL}?read_only=true"
    [call] = hooks_of(home)["SessionStart"]
    assert call.endswith("--url http://localhost:8000")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://a b"])
def test_an_address_that_is_none_is_refused(home: Path, run: Run, url: str) -> None:
    before = put(home, "cursor")
    refused = run("install", "cursor", "--url", url, "--yes")
    assert refused.exit_code == 2
    assert "--url: expected an address such as http://localhost:8000" in refused.output
    assert (home / FILES["cursor"]).read_text("utf-8") == before


def test_without_a_key_the_client_is_named_and_wishes_stand_in_the_url(
    home: Path, run: Run
) -> None:
    run("install", "cursor", "--url", URL, "--client", "work", "--read-only", "--yes")
    assert written(home, "cursor")["graphmem"] == {
        "url": f"{URL}?read_only=true",
        "headers": {"X-Client-Id": "work"},
    }
    run("install", "codex", "--url", URL, "--client", "work", "--yes")
    assert written(home, "codex")["graphmem"]["http_headers"] == {"X-Client-Id": "work"}


def test_a_second_installation_replaces_the_first(home: Path, run: Run) -> None:
    for program in PROGRAMS:
        before = put(home, program)
        run("install", program, "--client", "first", "--yes")
        run("install", program, "--client", "second", "--yes")
        text = (home / FILES[program]).read_text("utf-8")
        assert "first" not in text
        assert text.count("second") == 1
        run("uninstall", program, "--yes")
        assert program == "vscode" or (home / FILES[program]).read_text("utf-8") == before


def test_the_change_is_shown_and_nothing_is_written_without_consent(home: Path, run: Run) -> None:
    before = put(home, "claude-code")
    result = run("install", "claude-code", said="n\n")
    assert '+        "graphmem": {' in result.output
    assert "nothing was written" in result.output
    assert (home / FILES["claude-code"]).read_text("utf-8") == before
    assert "written; restart" in run("install", "claude-code", said="y\n").output


def test_the_mode_and_a_link_of_a_file_stay(home: Path, run: Run) -> None:
    put(home, "cursor")
    link = home / FILES["cursor"]
    real = link.with_name("real.json")
    link.rename(real)
    link.symlink_to(real)
    real.chmod(0o640)
    run("install", "cursor", "--yes")
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in link.parent.iterdir()) == ["mcp.json", "real.json"]


def test_tables_after_ours_stay(home: Path, run: Run) -> None:
    path = home / FILES["codex"]
    path.parent.mkdir()
    others = '# the looks\n[tui]\ntheme = "dark"\n'
    ours = '[mcp_servers.graphmem]\ncommand = "old"\n\n[mcp_servers.graphmem.env]\nA = "1"\n\n'
    path.write_text(ours + others)
    run("uninstall", "codex", "--yes")
    assert path.read_text() == others


@pytest.mark.parametrize(
    ("program", "text", "words"),
    [
        ("cursor", '{\n  // mine\n  "mcpServers": {}\n}', "perhaps it has comments"),
        ("cursor", "[]", "is no JSON object"),
        ("cursor", '{"mcpServers": []}', "'mcpServers' is no object"),
        ("codex", "model = ", "is not valid TOML"),
        ("codex", 'mcp_servers = {graphmem = {command = "x"}}', "in another form than a table"),
    ],
)
def test_a_file_that_cannot_be_kept_is_left_alone(
    home: Path, run: Run, program: str, text: str, words: str
) -> None:
    path = home / FILES[program]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    result = run("install", program, "--yes")
    assert result.exit_code == 2
    assert words in result.output
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("claude-desktop", "--url", URL), "leave --url out"),
        (("cursor", "--key-variable", "K"), "--key-variable is for --url"),
        (("emacs",), "claude-code"),
    ],
)
def test_what_cannot_be_installed_is_told(
    home: Path, run: Run, arguments: tuple[str, ...], words: str
) -> None:
    result = run("install", *arguments, "--yes")
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize(
    ("system", "environment", "expected"),
    [
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("darwin", {}, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_the_place_of_a_file_is_that_of_the_system(
    system: str, environment: dict[str, str], expected: str
) -> None:
    found = folders(environment, system, Path("/h"))
    assert PROGRAMS["claude-desktop"].file(found) == Path(expected)
    moved = folders({"CODEX_HOME": "/c"}, system, Path("/h"))
    assert PROGRAMS["codex"].file(moved) == Path("/c/config.toml")


HOOKS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}],
        "PreToolUse": [],
    },
}


def hooks_of(home: Path) -> dict[str, Any]:
    """Return the commands of Claude Code's hooks, by their events."""
    settings = json.loads((home / ".claude/settings.json").read_text("utf-8"))
    return {
        event: [call["command"] for group in groups for call in group["hooks"]]
        for event, groups in settings["hooks"].items()
    }


def test_hooks_are_put_beside_those_that_are_there_and_taken_out_again(
    home: Path, run: Run
) -> None:
    path = home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(HOOKS, indent=2) + "\n")
    before = path.read_text()
    for _ in range(2):
        run("install", "claude-code", "--client", "work", "--yes")
    ours = "/opt/bin/graphmem hook {} --client work"
    assert hooks_of(home) == {
        "SessionStart": ["date", ours.format("session-start")],
        "PreToolUse": [],
        "SessionEnd": [ours.format("session-end")],
    }
    run("uninstall", "claude-code", "--yes")
    assert path.read_text() == before


def test_hooks_ask_the_service_and_a_reader_does_not_remember(home: Path, run: Run) -> None:
    wish = ("--url", URL, "--key-variable", "THE_KEY", "--read-only")
    run("install", "claude-code", *wish, "--yes")
    call = "/opt/bin/graphmem hook session-start --client default --url http://localhost:8000"
    assert hooks_of(home) == {"SessionStart": [f"{call} --key-variable THE_KEY"]}
    run("install", "claude-code", "--no-hooks", "--yes")
    assert json.loads((home / ".claude/settings.json").read_text()) == {}


def test_hooks_that_cannot_be_kept_leave_both_files_alone(home: Path, run: Run) -> None:
    path = home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": []}')
    result = run("install", "claude-code", "--yes")
    assert (result.exit_code, path.read_text()) == (2, '{"hooks": []}')
    assert "'hooks' is no object" in result.output
    assert not (home / ".claude.json").exists()
