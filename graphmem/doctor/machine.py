"""The machine: Java, room on its disks, memory."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import psutil

from graphmem.artifacts.cache import MEGABYTE, read_stamp
from graphmem.artifacts.coordinates import list_hash
from graphmem.artifacts.fetch import LISTINGS
from graphmem.config import Settings
from graphmem.doctor.findings import Finding, note, ok, problem, refused, warning
from graphmem.errors import JavaNotFound
from graphmem.server.folder import BYTES_NEEDED
from graphmem.server.java import VECTOR_MODULE, find_java

COMFORTABLE_BYTES = 2_000 * MEGABYTE
"""Below this free space a growing store gets a warning."""

OTHER_BYTES = 700 * MEGABYTE
"""The memory of the service with its model, and of Java outside its heap."""

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def java(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Check for a Java that can run the private Neo4j."""
    environ = os.environ if environ is None else environ
    try:
        found = find_java(environ)
    except JavaNotFound as missing:
        return [refused("java", missing)]
    chosen = environ.get("JAVA_HOME")
    vector = "" if found.has_vector_module else f", without {VECTOR_MODULE}: searches are slower"
    findings = [ok("java", f"Java {found.version} ({found.path}){vector}")]
    if chosen and (Path(chosen) / "bin" / "java").resolve() != found.path:
        findings.append(
            warning(
                "java",
                f"JAVA_HOME names {chosen}, which has no Java that can run Neo4j",
                f"let it name a Java 25; meanwhile {found.path} is used",
            )
        )
    return findings


def data_disk(settings: Settings) -> list[Finding]:
    """Check the disk of the private server's store."""
    return [_disk("disk of the data", settings.data_dir, BYTES_NEEDED, "GRAPHMEM_DATA_DIR")]


def cache(settings: Settings, *, private: bool) -> list[Finding]:
    """Check the disk of the cache, and whether files are still to be fetched."""
    folder = settings.cache_dir
    wanted = [
        name
        for name, needed in (("neo4j", private), ("embedding", settings.embedding_model is None))
        if needed and read_stamp(folder / "maven" / f"{name}.stamp", list_hash(name)) is None
    ]
    # In a container the model is present without its jar.
    if "embedding" in wanted and (folder / "models").is_dir():
        wanted.remove("embedding")
    needed = sum(LISTINGS[name].bytes_needed for name in wanted)
    findings = [_disk("disk of the cache", folder, needed, "GRAPHMEM_CACHE_DIR", comfortable=0)]
    if wanted:
        titles = " and ".join(LISTINGS[name].title for name in wanted)
        findings.append(
            note("cache", f"{titles} will be fetched at the next start, which takes a network")
        )
    return findings


def memory(settings: Settings, *, runs: bool) -> list[Finding]:
    """Check whether the private server fits into the machine's memory."""
    needed = size(settings.neo4j_heap) + size(settings.neo4j_page_cache) + OTHER_BYTES
    machine = psutil.virtual_memory()
    total = min([machine.total, *_cgroup_limit()])
    said = f"{_gigabytes(total)}, of which Neo4j and the service take {_gigabytes(needed)}"
    remedy = "lower GRAPHMEM_NEO4J_HEAP and GRAPHMEM_NEO4J_PAGE_CACHE, or use a larger machine"
    if needed > total:
        return [problem("memory", f"the machine has {said}", remedy)]
    if not runs and needed > machine.available:
        free = _gigabytes(machine.available)
        return [
            warning("memory", f"only {free} of memory are free; {said}", f"free some, or {remedy}")
        ]
    return [ok("memory", f"the machine has {said}")]


def size(text: str) -> int:
    """Return the bytes of a size in the form of Neo4j's settings and Java's flags (1g, 512.00MiB)."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = UNITS.get(number[-1:], 1)
    return int(float(number.rstrip("kmgt")) * unit)


def _disk(
    subject: str, folder: Path, needed: int, variable: str, comfortable: int = COMFORTABLE_BYTES
) -> Finding:
    there = _existing(folder)
    remedy = f"free some space or choose another folder with {variable}"
    if not os.access(there, os.W_OK | os.X_OK):
        return problem(subject, f"{there} cannot be written", f"allow it, or {remedy}")
    free = shutil.disk_usage(there).free
    if free < needed:
        return problem(
            subject,
            f"{folder} has {free // MEGABYTE} MB free where {needed // MEGABYTE} MB are needed",
            remedy,
        )
    if free < comfortable:
        return warning(subject, f"{folder} has only {free // MEGABYTE:,} MB free", remedy)
    return ok(subject, f"{folder} has {_gigabytes(free)} free")


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _cgroup_limit() -> list[int]:
    try:
        return [int(CGROUP_LIMIT.read_text())]
    except (OSError, ValueError):
        return []


def _gigabytes(number: int) -> str:
    return f"{number / 1e9:,.1f} GB"
