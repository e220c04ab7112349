"""Keys: the file that holds their digests, its changes, and the client of a key.

A line is `client role sha256-of-key`, then `created=TIME` and `expires=TIME` if they are known, and
`reads=CLIENT,CLIENT` if the key may read other clients. Nothing in the file opens anything: a key is shown
once, when it is made.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeGuard

import msgspec
from msgspec import Struct

from graphmem.config import WatchedFile, variable
from graphmem.errors import InvalidInput, SettingError, Unavailable
from graphmem.model.times import Time
from graphmem.model.validation import validated
from graphmem.model.vocabulary import MOST_READS, ClientId, OtherReads
from graphmem_api.roles import ROLES, Role

PREFIX = "gm_"
"""The beginning of every key that is made here, so that scanners for secrets can find it."""

KEY_BYTES = 32
ID_CHARACTERS = 12
DIGEST = re.compile(r"[0-9a-fA-F]{64}")

WRITABLE_BY_ANYBODY = 0o002
WRITABLE_BY_OTHERS = 0o022

FORM = "`client role sha256-of-key`, then any of `created=TIME`, `expires=TIME` and `reads=CLIENT,CLIENT`"


class RequestClient(Struct, frozen=True):
    """The client of a request, its role, and the other clients that it may read."""

    id: str
    role: Role
    reads: tuple[str, ...] = ()


class KeyEntry(Struct, frozen=True, kw_only=True):
    """One key, as the file knows it."""

    client: RequestClient
    digest: bytes
    created: datetime | None = None
    expires: datetime | None = None

    @property
    def id(self) -> str:
        """The name of the key for people: the beginning of its digest, which does not reveal it."""
        return self.digest.hex()[:ID_CHARACTERS]

    def has_expired(self, now: datetime) -> bool:
        """Tell whether the key is no longer valid."""
        return self.expires is not None and self.expires <= now


class Additions(Struct, frozen=True, forbid_unknown_fields=True):
    """The rest of a line: the times of a key, and the other clients that it may read."""

    created: Time | None = None
    expires: Time | None = None
    reads: str | None = None


class Keys:
    """The keys in a file; a change of the file takes effect with the next request.

    Raises `SettingError` at first if the file cannot be used. If that happens later, no key is valid until it
    can be used again: a key revoked in a file with a mistake, or with the whole file, must not go on.
    """

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, read_keys, "no key is valid until the file can be used")

    def client(self, key: str) -> RequestClient | None:
        """Return the client of a key. Raises `Unavailable` while the file cannot be used.

        A digest is looked up, so that the time it takes reveals nothing about a key.
        """
        entry = self.usable().get(_digest(key))
        return entry.client if entry and not entry.has_expired(datetime.now(UTC)) else None

    def usable(self) -> dict[bytes, KeyEntry]:
        """Return the keys by their digests. Raises `Unavailable` while the file cannot be used."""
        entries = self._file.current()
        if self._file.problem is not None:
            raise Unavailable(
                "no key can be checked, since the keys file cannot be used: the service's log says why"
            )
        return entries


def read_keys(path: Path) -> dict[bytes, KeyEntry]:
    """Return the keys in a file by their digests.

    Raises a `SettingError` that names the line and never shows its content.
    """
    try:
        status, text = path.stat(), path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise _unusable(f"{path} cannot be read: {reason}") from problem
    if stat.S_IMODE(status.st_mode) & WRITABLE_BY_ANYBODY:
        raise _unusable(f"{path} can be changed by every user of this machine: chmod o-w {path}")
    return parsed(text, path)


def parsed(text: str, path: Path) -> dict[bytes, KeyEntry]:
    """Return the keys in the text of a file. Raises `SettingError`."""
    entries: dict[bytes, KeyEntry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            entry = _entry(words, f"{path}, line {number}")
            if entry.digest in entries:
                raise _unusable(f"{path}, line {number}: this key is on an earlier line already")
            entries[entry.digest] = entry
    return entries


def create_key(
    path: Path, client: RequestClient, *, expires_in: timedelta | None, now: datetime
) -> tuple[str, KeyEntry]:
    """Make a key, add it to the file, which is made if it is missing, and return both.

    Raises `SettingError`.
    """
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    entry = KeyEntry(
        client=client,
        digest=_digest(key),
        created=now,
        expires=now + expires_in if expires_in else None,
    )

    def added(text: str) -> str:
        parsed(text, path)
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{_line(entry)}\n"

    _change(path, added, flags=os.O_CREAT)
    return key, entry


def revoke_key(path: Path, id: str) -> KeyEntry:
    """Remove the key whose id begins with `id` from the file, and return what was removed.

    Raises `SettingError` if the file cannot be used, or if not exactly one key has such an id.
    """
    removed: list[KeyEntry] = []

    def without(text: str) -> str:
        removed.append(_one_of(parsed(text, path), id, path))
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if not _holds(line, removed[0].digest))

    _change(path, without)
    return removed[0]


def _one_of(entries: dict[bytes, KeyEntry], id: str, path: Path) -> KeyEntry:
    found = [entry for entry in entries.values() if entry.digest.hex().startswith(id.lower())]
    if len(found) != 1:
        many = "several keys with ids that begin" if found else "no key with an id that begins"
        raise _unusable(f"{path} holds {many} with {id!r}; `graphmem keys list` shows them")
    return found[0]


def _holds(line: str, digest: bytes) -> bool:
    return line.lower().split()[2:3] == [digest.hex()]


def _change(path: Path, edit: Callable[[str], str], *, flags: int = 0) -> None:
    """Write the file anew where it is: a container that mounts it would not see one in its place."""
    try:
        descriptor = os.open(path, os.O_RDWR | flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            before = path.read_bytes()
            _overwrite(descriptor, edit(before.decode("utf-8-sig")).encode(), before)
        finally:
            os.close(descriptor)
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise _unusable(f"{path} cannot be changed: {reason}") from problem


def _overwrite(descriptor: int, content: bytes, before: bytes) -> None:
    # In one step, and as long as before: a service that reads meanwhile finds no half of a line.
    padded = content.ljust(len(before), b"\n")
    if os.pwrite(descriptor, padded, 0) < len(padded):
        os.pwrite(descriptor, before, 0)
        os.ftruncate(descriptor, len(before))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _line(entry: KeyEntry) -> str:
    words = [entry.client.id, entry.client.role, entry.digest.hex()]
    times = {"created": entry.created, "expires": entry.expires}
    words += [f"{name}={at.isoformat('T', 'seconds')}" for name, at in times.items() if at]
    words += [f"reads={','.join(entry.client.reads)}"] if entry.client.reads else []
    return " ".join(words)


def _entry(words: list[str], place: str) -> KeyEntry:
    if len(words) < 3:
        raise _unusable(f"{place}: expected {FORM}")
    client, role, digest = words[:3]
    try:
        validated(client, ClientId)
    except InvalidInput as problem:
        raise _unusable(f"{place}: a client is 1–128 of letters, digits and `. _ : -`") from problem
    if not _is_role(role):
        raise _unusable(f"{place}: the role is one of {', '.join(ROLES)}")
    if not DIGEST.fullmatch(digest):
        raise _unusable(f"{place}: a key's SHA-256 is 64 hexadecimal digits")
    rest = _additions(words[3:], place)
    return KeyEntry(
        client=RequestClient(client, role, _reads(rest.reads, place)),
        digest=bytes.fromhex(digest),
        created=rest.created,
        expires=rest.expires,
    )


def _reads(given: str | None, place: str) -> tuple[str, ...]:
    """Return the clients that a line names; all of them at once cannot be named."""
    if given is None:
        return ()
    try:
        return tuple(validated(given.split(","), OtherReads))
    except InvalidInput as problem:
        raise _unusable(
            f"{place}: reads= names 1–{MOST_READS} clients, separated by commas; each is 1–128 of letters, "
            "digits and `. _ : -`"
        ) from problem


def _additions(words: list[str], place: str) -> Additions:
    given = dict(word.partition("=")[::2] for word in words)
    try:
        if len(given) == len(words):
            return msgspec.convert(given, Additions, strict=False)
    except msgspec.ValidationError as problem:
        raise _unusable(f"{place}: expected {FORM}; a time has a zone") from problem
    raise _unusable(f"{place}: expected {FORM}")


def _is_role(word: str) -> TypeGuard[Role]:
    return word in ROLES


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


def _unusable(problem: str) -> SettingError:
    return SettingError(variable("keys_file"), problem)
