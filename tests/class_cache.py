"""Neo4j's classes as Java has laid them out once: a server of the tests starts with half the processor time.

`python -m tests.class_cache` makes the cache, once for a Neo4j and a Java. Java compares a cache with itself
and with the jars, and a server whose cache is missing, damaged or another's starts without it.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from graphmem import config
from graphmem.artifacts.fetch import locked
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import SetupError
from graphmem.model.progress import silent
from graphmem.runtime import running
from graphmem.server import private, process
from graphmem.server.command import PREFERRED, Java, Programs, command, programs

# Any server that a test starts lives for minutes: the first compiler alone uses half the processor time.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

WRITE_SECONDS = 300.0
"""How long the server may take to end: it writes the cache then."""

SAID = {"role": "user", "name": "Mara", "content": "We deploy on Tuesdays, 06:00 UTC."}


def java_options(environ: Mapping[str, str]) -> str:
    """Return the options of every Java that the tests start, with the cache if there is one."""
    cached = next(_folder(_settings(environ)).glob("*.aot"), None)
    # Without a word about a cache that does not fit: a test may read what the server says.
    return f'{OPTIONS} "-XX:AOTCache={cached}" -Xlog:aot*=off' if cached else OPTIONS


def make(environ: Mapping[str, str]) -> None:
    """Make the cache, unless there is one, or Java is too old.

    Raises `SetupError` or `OSError`.
    """
    settings = _settings(environ)
    needed = asyncio.run(programs(settings, silent))
    if needed.java.version < PREFERRED:
        return
    folder = _folder(settings)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock", lambda: None):
        cached = folder / f"{_fingerprint(needed)}.aot"
        if not cached.exists():
            sys.stderr.write("making the tests' cache of Neo4j's classes, once: a minute\n")
            _write(cached, settings)


def _settings(environ: Mapping[str, str]) -> Settings:
    return config.load({"GRAPHMEM_CACHE_DIR": environ.get("GRAPHMEM_CACHE_DIR", "")})


def _folder(settings: Settings) -> Path:
    return settings.cache_dir / "classes"


def _fingerprint(needed: Programs) -> str:
    """Return a hash of what Java compares a cache with."""
    files = [(str(path), int(path.stat().st_mtime)) for path in (needed.java.path, *needed.jars)]
    return hashlib.sha256(repr((OPTIONS, files)).encode()).hexdigest()[:16]


def _write(cached: Path, settings: Settings) -> None:
    """Start a server, ask it a question, and let it write the cache when it ends; remove older caches."""
    unfinished = cached.with_suffix(".unfinished")

    def recording(java: Java, jars: list[Path], data_dir: Path, heap: str) -> list[str]:
        program, *arguments = command(java, jars, data_dir, heap)
        return [program, f"-XX:AOTCacheOutput={unfinished}", *arguments]

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", OPTIONS)
        patch.setattr(private, "command", recording)
        patch.setattr(process, "TERM_SECONDS", WRITE_SECONDS)
        asyncio.run(_use(config.load({}, data_dir=Path(folder), cache_dir=settings.cache_dir)))
    unfinished.rename(cached)
    for former in set(cached.parent.glob("*.aot")) - {cached}:
        former.unlink()


async def _use(settings: Settings) -> None:
    """Use as much of Neo4j as every test of a server does."""
    async with running(settings) as runtime:
        memory = Graphmem(runtime, "somebody")
        await memory.remember("deploys", [SAID], create=True)
        await memory.recall("When may I deploy?", max_tokens=500)


if __name__ == "__main__":
    try:
        make(os.environ)
    except (SetupError, OSError) as problem:
        sys.stderr.write(f"the tests have no cache of Neo4j's classes: {problem}\n")
