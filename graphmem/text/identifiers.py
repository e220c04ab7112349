"""Identifiers: the names of programs, machines and files in a text, recognized by their spelling.

Each expression either matches possessively or looks at a few dozen characters at most, so that the search
is linear on any text.
"""

import re
from collections.abc import Iterator
from string import digits, punctuation

from graphmem.text.common_words import FUNCTION_WORDS, OPENING_WORDS, is_ordinary

LONGEST = 100
"""The maximum length of a name in characters."""

Found = tuple[int, int, str]
"""The start and the end of a name in a text, and the name."""

# Most texts have none of these and are skipped.
_HINT = re.compile(
    r"[_/\\`@]|\w\.\w|\w\(\)|[a-z][A-Z]|[a-zA-Z]-\d|[A-Z]-[A-Z]|\d{3}|[eE]rr|\bexit\b"
)

MOST_COMMAND_WORDS = 3
"""How many words in `backticks` are a name or a command; more are an expression or a text."""

_EXPRESSION = re.compile(r"[<>{}$;=\"]|: ")
# What has a space at its ends stands between two terms, behind a mark without a partner.
_BACKTICKED = re.compile(rf"(?<!`)`(?!\s)([^`\n]{{1,{LONGEST}}})(?<!\s)`(?!`)")
_RUN = re.compile(r"[\w./\\:~@+-]++(?:\(\))?")
_URL = re.compile(r"https?://(?:www\.)?([^?#]++)")
_SNAKE = re.compile(r"_*[^\W\d_]\w*?_\w+")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z]\w*")
_DOTTED = re.compile(r"[^\W\d]\w+(?:\.[^\W\d]\w+)+")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
FILE = re.compile(r"[\w.+@-]*[\w+-]\.[a-z][a-z0-9]{0,7}")
_ERROR = re.compile(r"[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)+|0x[0-9a-fA-F]{4,16}")
_TICKET = re.compile(r"([a-z]{2,12})-\d{2,8}", re.IGNORECASE)
_CALL = re.compile(r"[^\W\d][\w.:]*\(\)")

_NUMBERED = re.compile(
    r"\b(?:(?P<http>http(?:/\d(?:\.\d)?)?|status(?:[ ]code)?)"
    r"|(?P<exit>exit[ ](?:code|status))"
    r"|(?P<error>error(?:[ ]code)?|errno))[ :#=]{1,3}(?P<number>\d{1,5})\b"
    r"|\b(?P<before>[45]\d\d)[ ](?:errors?|responses?|status)\b",
    re.IGNORECASE,
)

EXTENSIONS = frozenset(
    """
    bash bat c cc cfg clj cmd conf cpp cs css csv cypher dart db diff doc docx env erl ex exe gif go
    gradle h hpp html ini ipynb jar java jpeg jpg js json jsonl jsx key kt lock log lua md mjs mp3 mp4
    onnx parquet patch pdf pem php pl png pptx proto ps1 py pyi r rb rs rst sass scala scss sh so sql
    sqlite svelte svg swift tar tf toml ts tsv tsx txt vue wasm wav xls xlsx xml yaml yml zip
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""The endings that make a word with a point in it a file."""

_COMMON = FUNCTION_WORDS | OPENING_WORDS
# Words before a year or a number that do not make a name of it.
_BEFORE_NUMBERS = _COMMON | {"ca", "circa", "non", "pre"}
_OPENS_A_PATH = ("/", "~/", "./", "../")
_STATUSES = range(100, 600)


def identifiers(text: str) -> Iterator[Found]:
    """Yield paths, files, identifiers, addresses, error codes and terms in `backticks`."""
    if not _HINT.search(text):
        return
    for match in _BACKTICKED.finditer(text):
        term = match[1].strip()
        if (
            len(term.split()) > MOST_COMMAND_WORDS
            or _EXPRESSION.search(term)
            or not term.strip(punctuation + digits)
        ):
            continue
        if not (term.isalpha() and term.islower() and is_ordinary(term)):
            yield match.start(), match.end(), term
    for match in _RUN.finditer(text):
        if text[match.start() - 1 : match.start()] == "<":
            continue  # a closing tag is no path
        if match.end() - match.start() <= LONGEST and (name := _identifier(match[0])):
            yield match.start(), match.end(), name
    for match in _NUMBERED.finditer(text):
        yield match.start(), match.end(), _numbered(match)


def _identifier(run: str) -> str | None:
    """Return the name in a run of such characters; None for an ordinary word."""
    run = run.rstrip(".:-+@").lstrip(":-+@")
    if url := _URL.fullmatch(run):
        return url[1].rstrip("/")
    if "/" in run or "\\" in run:
        return run if _is_path(run) else None
    run = run.lstrip(".")
    if _CALL.fullmatch(run) or _MAIL.fullmatch(run) or _ERROR.fullmatch(run):
        return run
    if _SNAKE.fullmatch(run) or _CAMEL.fullmatch(run):
        return run
    if ticket := _TICKET.fullmatch(run):
        return None if ticket[1].lower() in _BEFORE_NUMBERS else run
    return run if _is_dotted(run) else None


def _is_path(run: str) -> bool:
    """Tell a path from words with a slash between them, as in `and/or`, `km/h`, `24/7`."""
    parts = [part for part in re.split(r"[/\\]", run) if part.strip(".~:")]
    if not parts or all(
        part.lower() in _COMMON or not re.search("[a-zA-Z]", part) for part in parts
    ):
        return False
    if FILE.fullmatch(parts[-1]):
        return True
    if run.startswith(_OPENS_A_PATH) or run[1:3] == ":\\":
        return len(max(parts, key=len)) > 1
    return len(parts) > 2 or any("_" in part for part in parts)


def _is_dotted(run: str) -> bool:
    """Tell `asyncio.gather` and `notes.md` from `e.g.`, `3.14` and a missing space after a full stop."""
    if FILE.fullmatch(run) and run.rpartition(".")[2].lower() in EXTENSIONS:
        return True
    if not _DOTTED.fullmatch(run):
        return False
    parts = run.split(".")
    return not any(part.lower() in FUNCTION_WORDS for part in parts) and parts[-1][0].islower()


def _numbered(match: re.Match[str]) -> str:
    number = int(match["number"] or match["before"])
    if match["exit"]:
        return f"exit code {number}"
    if match["error"] or (match["number"] and number not in _STATUSES):
        return f"error {number}"
    return f"HTTP {number}"
