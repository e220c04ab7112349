"""The generated password of the private server, kept in a file for its owner alone."""

import secrets
from pathlib import Path

from graphmem.server.folder import write_private

USER = "neo4j"
# What a fresh store answers to until it is changed.
INITIAL = "neo4j"


def password(data_dir: Path) -> str:
    """Return the password, made and written before the server hears of it.

    In this order a process killed in between leaves a password that the next start can set.
    """
    path = data_dir / "password"
    known = path.read_text("utf-8").strip() if path.exists() else ""
    if known:
        return known
    generated = secrets.token_urlsafe(32)
    write_private(path, generated + "\n")
    return generated
