"""Validation of texts from callers, and numbers in words."""

from graphmem.errors import InvalidInput, TooLarge


def checked_text(text: str, field: str, *, most_bytes: int) -> str:
    """Return the text; raise `InvalidInput` if it is blank or not Unicode, `TooLarge` beyond the limit."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as problem:
        raise InvalidInput(
            field, f"character {problem.start} is half of a surrogate pair, not a character"
        ) from problem
    if size > most_bytes:
        raise TooLarge(field, f"{size:,} bytes of UTF-8; at most {most_bytes:,} are taken")
    if not text.strip():
        raise InvalidInput(field, "is blank; send at least one character")
    return text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 memory, 2 memories, 1,000 keys."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        noun = f"{noun[:-1]}ie"
    return f"{number:,} {noun}s"
