"""`graphmem install` and `uninstall`: the memory in the configuration of an agent's program."""

import difflib
import json
import os
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from graphmem.cli.hook import END, START
from graphmem.cli.mcp import require_sdk
from graphmem.cli.options import (
    MODEL,
    RUNNING,
    Command,
    client_option,
    flag,
    is_path,
    settings_options,
)
from graphmem.config import Settings, is_address, variable
from graphmem.errors import SetupError

NAME = "graphmem"
"""The name of our entry in every configuration."""


EPILOG = """\b
PROGRAM is claude-code, claude-desktop, cursor, vscode, codex or opencode. The change is shown first;
everything else in the file stays as it is. Restart the program afterwards. For claude-code also two
hooks: a session begins with what is remembered of its project, and is remembered at its end.

\b
Without --url the program starts `graphmem mcp` itself. With it, it asks a running `graphmem serve`,
with the key in the environment variable that --key-variable names: no key is written into a file.
Settings in the environment of this command (GRAPHMEM_DATA_DIR and others) are written as options of what
the program starts, since a program with a window has no such environment; passwords are not.

\b
Examples:
  graphmem install claude-code
  graphmem install cursor --client work --read-only
  graphmem install codex --url http://localhost:8000 --key-variable GRAPHMEM_KEY
  graphmem uninstall claude-code
"""

UNINSTALL_EPILOG = """\b
Examples:
  graphmem uninstall claude-code
  graphmem uninstall codex --yes
"""

HOOKS = {"SessionStart": START, "SessionEnd": END}
"""The events of Claude Code, and ours."""

HOOK_SECONDS = 60

UNWRITTEN = ("neo4j_password", "embedding_key", *MODEL, "llm_key")
"""Settings that a started graphmem takes from its environment only."""


class Wanted(Struct, frozen=True, kw_only=True):
    """How a program reaches the memory: by a command that it starts, or at a URL."""

    command: tuple[str, ...] = ()
    url: str | None = None
    client_id: str = "default"
    key_variable: str | None = None


Entry = Callable[[Wanted], dict[str, Any]]


class Program(Struct, frozen=True, kw_only=True):
    """A program: its file in a folder, the place of its servers there, and the form of an entry."""

    title: str
    file: Callable[["Folders"], Path]
    section: str
    entry: Entry
    is_toml: bool = False
    takes_url: bool = True
    hooks: Callable[["Folders"], Path] | None = None
    """The file of its hooks, if it has them."""


class Folders(Struct, frozen=True):
    """Where the programs of a user keep their files."""

    home: Path
    settings: Path
    """Of programs with a window: it depends on the system."""
    config: Path
    codex: Path


def folders(environment: Mapping[str, str], system: str, home: Path) -> Folders:
    """Return the folders of a user on a system, as `sys.platform` names it."""
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    settings = {
        "darwin": home / "Library" / "Application Support",
        "win32": Path(environment.get("APPDATA") or home / "AppData" / "Roaming"),
    }.get(system, config)
    return Folders(home, settings, config, Path(environment.get("CODEX_HOME") or home / ".codex"))


def _headers(wanted: Wanted, variable: str) -> dict[str, str]:
    """Return the headers of requests; the key is named in the program's own notation."""
    if wanted.key_variable:
        return {"Authorization": f"Bearer {variable.format(wanted.key_variable)}"}
    return {"X-Client-Id": wanted.client_id}


def _typed(variable: str) -> Entry:
    """Return the entry of programs that name the type of a server."""

    def entry(wanted: Wanted) -> dict[str, Any]:
        if wanted.url:
            return {"type": "http", "url": wanted.url, "headers": _headers(wanted, variable)}
        command, *arguments = wanted.command
        return {"type": "stdio", "command": command, "args": arguments}

    return entry


def _untyped(wanted: Wanted) -> dict[str, Any]:
    if wanted.url:
        return {"url": wanted.url, "headers": _headers(wanted, "${{env:{}}}")}
    command, *arguments = wanted.command
    return {"command": command, "args": arguments}


def _opencode(wanted: Wanted) -> dict[str, Any]:
    if wanted.url:
        headers = _headers(wanted, "{{env:{}}}")
        return {"type": "remote", "url": wanted.url, "headers": headers, "enabled": True}
    return {"type": "local", "command": list(wanted.command), "enabled": True}


def _codex(wanted: Wanted) -> dict[str, Any]:
    if wanted.url and wanted.key_variable:
        return {"url": wanted.url, "bearer_token_env_var": wanted.key_variable}
    if wanted.url:
        return {"url": wanted.url, "http_headers": {"X-Client-Id": wanted.client_id}}
    command, *arguments = wanted.command
    return {"command": command, "args": arguments}


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        title="Claude Code",
        file=lambda at: at.home / ".claude.json",
        section="mcpServers",
        entry=_typed("${{{}}}"),
        hooks=lambda at: at.home / ".claude" / "settings.json",
    ),
    "claude-desktop": Program(
        title="Claude Desktop",
        file=lambda at: at.settings / "Claude" / "claude_desktop_config.json",
        section="mcpServers",
        entry=_untyped,
        takes_url=False,
    ),
    "cursor": Program(
        title="Cursor",
        file=lambda at: at.home / ".cursor" / "mcp.json",
        section="mcpServers",
        entry=_untyped,
    ),
    "vscode": Program(
        title="VS Code",
        file=lambda at: at.settings / "Code" / "User" / "mcp.json",
        section="servers",
        entry=_typed("${{env:{}}}"),
    ),
    "codex": Program(
        title="Codex",
        file=lambda at: at.codex / "config.toml",
        section="mcp_servers",
        entry=_codex,
        is_toml=True,
    ),
    "opencode": Program(
        title="opencode",
        file=lambda at: at.config / "opencode" / "opencode.json",
        section="mcp",
        entry=_opencode,
    ),
}


@click.command(cls=Command, epilog=EPILOG)
@click.argument("program", type=click.Choice(list(PROGRAMS)))
@client_option
@click.option("--url", metavar="URL", help="Ask a running graphmem serve, there or at its /mcp.")
@click.option("--key-variable", metavar="NAME", help="The environment variable with the key.")
@click.option("--tools", metavar="NAMES", help="Offer only these tools and groups of tools.")
@click.option("--read-only", is_flag=True, help="Offer only tools that change nothing.")
@click.option("--no-hooks", is_flag=True, help="Write no hooks.")
@click.option("--yes", is_flag=True, help="Do not ask before writing.")
@settings_options()
def install(
    *,
    program: str,
    client_id: str,
    url: str | None,
    key_variable: str | None,
    tools: str | None,
    read_only: bool,
    no_hooks: bool,
    yes: bool,
    settings: Settings,
) -> None:
    """Put the memory into the configuration of PROGRAM."""
    chosen = PROGRAMS[program]
    service, wishes = _service(url) if url else (None, "")
    if url and not chosen.takes_url:
        raise click.UsageError(f"{chosen.title} starts programs only: leave --url out")
    if key_variable and not url:
        raise click.UsageError("--key-variable is for --url: a started graphmem needs no key")
    if not url:
        require_sdk("; or name a running service with --url")
    # What a service uses is its own.
    kept = [] if url else _settings_here()
    wanted = Wanted(
        command=() if url else (*_command(client_id, tools, read_only=read_only), *kept),
        url=service and _address(f"{service}/mcp", wishes, tools, read_only=read_only),
        client_id=client_id,
        key_variable=key_variable,
    )
    events = () if no_hooks else ("SessionStart",) if read_only else tuple(HOOKS)
    options = ["--client", client_id] + (["--url", service] if service else [])
    options += ["--key-variable", key_variable] if key_variable else kept
    calls = {event: shlex.join([*_started(), "hook", HOOKS[event], *options]) for event in events}
    _change(chosen, chosen.entry(wanted), calls, yes=yes)
    unwritten = [variable(one) for one in UNWRITTEN if not url and os.environ.get(variable(one))]
    if unwritten:
        click.echo(
            f"not written: {', '.join(unwritten)}; they hold where {chosen.title} has them in its environment"
        )


@click.command(cls=Command, epilog=UNINSTALL_EPILOG)
@click.argument("program", type=click.Choice(list(PROGRAMS)))
@click.option("--yes", is_flag=True, help="Do not ask before writing.")
@settings_options()
def uninstall(*, program: str, yes: bool, settings: Settings) -> None:
    """Take the memory out of the configuration of PROGRAM; what is remembered stays."""
    _change(PROGRAMS[program], None, {}, yes=yes)


def _command(client_id: str, tools: str | None, *, read_only: bool) -> tuple[str, ...]:
    options = ["--client", client_id]
    options += ["--tools", tools] if tools else []
    options += ["--read-only"] if read_only else []
    return (*_started(), "mcp", *options)


def _started() -> tuple[str, ...]:
    """Return the command graphmem by its path: programs with a window have no PATH of a shell."""
    found = shutil.which("graphmem")
    return (found,) if found else (sys.executable, "-m", "graphmem.cli.main")


def _settings_here() -> list[str]:
    """Return the settings of this environment as options; what is relative here is not elsewhere."""
    options: list[str] = []
    for name in RUNNING:
        value = os.environ.get(variable(name))
        if value and (is_path(name) or value.startswith((".", "~"))):
            value = str(Path(value).expanduser().absolute())
        options += [flag(name), value] if value else []
    return options


def _service(url: str) -> tuple[str, str]:
    """Return the address of a service without its `/mcp`, and the wishes after its `?`.

    Raises `click.UsageError` for what is no address.
    """
    if not url.lower().startswith(("http://", "https://")) or not is_address(url):
        raise click.UsageError("--url: expected an address such as http://localhost:8000")
    service, _, wishes = url.partition("?")
    return service.rstrip("/").removesuffix("/mcp").rstrip("/"), wishes


def _address(url: str, given: str, tools: str | None, *, read_only: bool) -> str:
    """Return the address for a program, with wishes that were given and those of the options."""
    wishes = [given] if given else []
    wishes += [f"tools={tools}"] if tools else []
    wishes += ["read_only=true"] if read_only else []
    return f"{url}?{'&'.join(wishes)}" if wishes else url


def _change(
    program: Program, entry: dict[str, Any] | None, calls: Mapping[str, str], *, yes: bool
) -> None:
    """Show the changes of a program's files and make them, if there are any. Raises `SetupError`."""
    at = folders(os.environ, sys.platform, Path.home())
    path = program.file(at)
    edits = [(path, before := _read(path), changed(before, program, entry, path))]
    if program.hooks is not None:
        path = program.hooks(at)
        edits.append((path, before := _read(path), hooked(before, calls, path)))
    edits = [edit for edit in edits if edit[1] != edit[2]]
    if not edits:
        click.echo(f"{program.title} needs no change")
        return
    for path, before, after in edits:
        click.echo("\n".join(_difference(path, before, after)))
    if not yes and not click.confirm("Write this?"):
        click.echo("nothing was written")
        return
    for path, _, after in edits:
        _write(path, after)
    click.echo(f"written; restart {program.title}")


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _difference(path: Path, before: str, after: str) -> Iterator[str]:
    lines = before.splitlines(), after.splitlines()
    return difflib.unified_diff(*lines, str(path), str(path), lineterm="")


def hooked(before: str, calls: Mapping[str, str], path: Path) -> str:
    """Return a file's text with our hooks, or without them; all else stays. Raises `SetupError`."""
    settings = _read_json(before, path)
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SetupError(f"{path}: 'hooks' is no object; mend it first")
    now: dict[str, Any] = {}
    for event in dict.fromkeys([*hooks, *calls]):
        kept = [group for group in hooks.get(event, []) if not _is_ours(group)]
        if event in calls:
            call = {"type": "command", "command": calls[event], "timeout": HOOK_SECONDS}
            kept.append({"hooks": [call]})
        if kept or event not in HOOKS:
            now[event] = kept
    if now == hooks:
        return before
    settings["hooks"] = now
    if not now:
        del settings["hooks"]
    return json.dumps(settings, indent=_indent(before), ensure_ascii=False) + "\n"


def _is_ours(group: Any) -> bool:
    calls = group.get("hooks", []) if isinstance(group, dict) else []
    return any(
        f" hook {event} " in f"{call.get('command', '')} " and "graphmem" in call["command"]
        for call in calls
        if isinstance(call, dict)
        for event in HOOKS.values()
    )


def changed(before: str, program: Program, entry: dict[str, Any] | None, path: Path) -> str:
    """Return a file's text with our entry, or without it; all else stays. Raises `SetupError`."""
    if program.is_toml:
        return _changed_toml(before, program.section, entry, path)
    settings = _read_json(before, path)
    servers = settings.get(program.section, {})
    if not isinstance(servers, dict):
        raise SetupError(f"{path}: {program.section!r} is no object; mend it first")
    if servers.get(NAME) == entry:
        return before
    others = {name: server for name, server in servers.items() if name != NAME}
    now = servers | {NAME: entry} if entry is not None else others
    settings[program.section] = now
    if not now:
        del settings[program.section]
    return json.dumps(settings, indent=_indent(before), ensure_ascii=False) + "\n"


def _read_json(text: str, path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(text) if text.strip() else {}
    except ValueError as problem:
        raise SetupError(
            f"{path} is not plain JSON ({problem}), perhaps it has comments: they would be lost, so add the "
            "entry by hand; --help of graphmem mcp shows it"
        ) from problem
    if not isinstance(settings, dict):
        raise SetupError(f"{path} is no JSON object; mend it first")
    return settings


def _indent(text: str) -> int | str:
    """Return the indentation of a JSON text, two spaces for a new one."""
    for line in text.splitlines()[1:]:
        if spaces := line[: len(line) - len(line.lstrip())]:
            return spaces
    return 2


def _changed_toml(text: str, section: str, entry: dict[str, Any] | None, path: Path) -> str:
    """Return TOML with our table at its end or without it; comments and order of all else stay."""
    try:
        known = tomllib.loads(text).get(section, {}).get(NAME)
    except (tomllib.TOMLDecodeError, AttributeError) as problem:
        raise SetupError(f"{path} is not valid TOML ({problem}); mend it first") from problem
    if known == entry:
        return text
    kept = _without_table(text, f"[{section}.{NAME}]", f"[{section}.{NAME}.")
    if tomllib.loads(kept).get(section, {}).get(NAME) is not None:
        raise SetupError(f"{path} has {NAME} in another form than a table; remove it by hand first")
    if entry is None:
        return kept
    lines = [f"[{section}.{NAME}]", *(f"{name} = {_toml(value)}" for name, value in entry.items())]
    return "\n".join([*([kept.rstrip("\n"), ""] if kept.strip() else []), *lines]) + "\n"


def _without_table(text: str, heading: str, below: str) -> str:
    """Return TOML without a table and the tables below it."""
    kept: list[str] = []
    loose: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.strip() == heading or line.strip().startswith(below)
        if not inside:
            # Comments over the next table belong to that.
            kept += [*loose, line]
            loose = []
        elif line.lstrip().startswith("#"):
            loose.append(line)
        elif line.strip():
            loose = []
    rest = "".join([*kept, *loose]).rstrip("\n")
    return f"{rest}\n" if rest.strip() else ""


def _toml(value: Any) -> str:
    """Return a text, a list of texts or a map of texts as TOML; JSON's strings are TOML's too."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value, ensure_ascii=False)


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, with its mode; a link stays a link."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        if target.exists():
            shutil.copymode(target, name)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
