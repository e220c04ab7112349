"""Refuses statements that Neo4j could not interrupt, by their words, before the database sees them.

A time limit cuts a statement between two rows. The planner, a loop inside one expression, a regular
expression and Lucene's parser check no limit: the caller gets its 408, and a processor works on until the
server is restarted. The bounds below were measured. They prove nothing: a loop over a list whose length comes
from the data passes here, and `graphmem/graph/statements.py` finds it at work.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from graphmem.errors import CypherRefused
from graphmem.exploring.words import Word, dotted, place_of

DEPTH = 50
"""The maximum depth of brackets, CASE and NOT: the parser's stack overflows between 200 and 400."""

SUBQUERIES = 10
"""The maximum depth of braces: the planner takes minutes from 18 EXISTS on."""

JOINED = 100
"""The maximum number of operators, properties and brackets that stand around one another in an expression.

Neo4j writes an expression out to name its column; from 157 on its stack overflows, and it sends no answer.
"""

UNIONS = 100

PARTS = 500
"""The maximum number of columns and patterns between UNIONs: 2,000 keep the planner for a minute.

Counted are the words MATCH, and the commas outside of brackets, of maps and lists that is.
"""

SUBQUERY_BEGINS = {"CALL", "COLLECT", "COUNT", "EXISTS", ")"}
"""What stands before the brace of a subquery; another brace is that of a map, or tells a number of hops."""

SUBQUERY = "{ of a subquery"

NUMBERS = 1_000_000
"""The maximum steps of loops inside one expression: a million plain steps take a quarter of a second."""

REDUCED = 100_000
"""The same for `reduce`, whose steps may copy a growing value: three seconds for as many characters."""

RULES: Mapping[str, str] = {
    "cypher_nesting": f"brackets, CASE and NOT may stand {DEPTH} deep, braces {SUBQUERIES}, with {JOINED} "
    f"operators in one expression, {UNIONS} UNIONs and {PARTS} columns and patterns: send long lists as a "
    "parameter, join steps by WITH",
    "cypher_regex": "after =~ stands a text, or a parameter, with at most two of `*`, `+` and `{n,}`, no "
    "repetition of what repeats or has alternatives, and few alternatives: CONTAINS, STARTS WITH and ENDS "
    "WITH take anything",
    "cypher_fulltext": "a question to the full-text index has no regular expression between slashes and at "
    f"most {DEPTH} brackets inside one another: write \\\\/ for a slash, or put it in quotes",
    "cypher_range": f"loops inside an expression take {NUMBERS:,} steps at most, multiplied where they are "
    f"nested, {REDUCED:,} in reduce, and a range in one has ends that are numbers, parameters or size(…): "
    "let UNWIND range(…) AS x make rows, which can be interrupted",
}
"""The refusals, by the rule's code, and the remedies."""

CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
OPERATORS = frozenset("+-*/%^=<>|")
LOGICAL = frozenset({"AND", "OR", "XOR"})
APART = frozenset(",;") | {
    *(
        "CALL",
        "FILTER",
        "FOR",
        "LET",
        "MATCH",
        "NEXT",
        "ORDER",
        "RETURN",
        "SEARCH",
        "THEN",
        "UNION",
    ),
    *("UNWIND", "WHERE", "WITH", "YIELD"),
}
"""Words that separate two expressions."""

GOES_ON = frozenset("+-*/%^|[.(:=<>")
"""Signs after a literal that make it a part of a longer expression."""

QUERY_NODES = "db.index.fulltext.querynodes"
LOOPS = frozenset({"ALL", "ANY", "NONE", "SINGLE", "REDUCE"})
SIZES = frozenset({"size", "length"})


UNBOUNDED, CHOICES, PATTERN_CHARACTERS = 2, 1_000, 1_000
"""The maxima for a regular expression: unbounded quantifiers, paths through the rest of it, characters."""


class Group(Struct, frozen=True):
    """A bracket and its contents, or the whole text without a bracket."""

    opener: str
    items: list["Word | Group"]


class Loops(Struct):
    """The data for counting the loops of a text: parameters, and the longest range with a name."""

    parameters: Mapping[str, Any]
    longest: int = 1


class Joined(Struct):
    """The depth of an expression inside a bracket: every operator stands around those before it."""

    logical: int = 0
    operators: int = 0
    links: int = 0
    """Properties and brackets after one another, which stand around what they are taken of."""
    below: int = 0
    """The depth of an operand."""
    most: int = 0
    """That of the deepest expression so far."""

    def add(self, upper: str) -> None:
        """Count the next word."""
        if upper in APART:
            self.logical = self.operators = self.links = self.below = 0
        elif upper in LOGICAL:
            self.below = max(self.below, self.operators + self.links)
            self.logical += 1
            self.operators = self.links = 0
        elif upper in OPERATORS:
            self.below = max(self.below, self.links)
            self.operators += 1
            self.links = 0
        elif upper == "." or upper in CLOSED_BY:
            self.links += 1
        self.deepen(0)

    def deepen(self, inner: int) -> None:
        """Count what a bracket holds."""
        self.below = max(self.below, inner)
        self.most = max(self.most, self.logical + self.operators + self.links + self.below)


class _Endless(Exception):
    """A word breaks a rule."""

    def __init__(self, rule: str, word: "Word | Group") -> None:
        self.rule = rule
        self.start = word.start if isinstance(word, Word) else 0


def check_endless(query: str, sequence: Sequence[Word], parameters: Mapping[str, Any]) -> None:
    """Raise `CypherRefused` for work that the database could not interrupt, as far as the words show it."""
    try:
        _check_depth(sequence)
        _check_regexes(sequence, parameters)
        _check_fulltext(sequence, parameters)
        _check_ranges(sequence, parameters)
    except _Endless as found:
        place = place_of(query, found.start)
        where = (place.line, place.column, place.offset)
        raise CypherRefused(found.rule, RULES[found.rule], where) from None


def kinds(sequence: Sequence[Word]) -> set[str]:
    """Return the rules that apply to these words, of a text or of a plan."""
    found = set()
    if any(True for _ in _matched(sequence)):
        found.add("cypher_regex")
    if any(True for _ in _ranges(sequence)):
        found.add("cypher_range")
    if any(True for _ in _questions(sequence)):
        found.add("cypher_fulltext")
    return found


def is_harmless(pattern: str) -> bool:
    """Tell whether a regular expression of Java backtracks little, whatever the text."""
    try:
        return len(pattern) <= PATTERN_CHARACTERS and _Pattern(pattern).is_harmless()
    except (IndexError, ValueError):
        return False


def has_lucene_regex(question: str, *, pieced: bool = False) -> bool:
    """Tell whether a question to Lucene has an unescaped slash outside of quotes, or many brackets.

    In one piece of a concatenated question quotes do not count: they may close those of another piece.
    """
    bare = re.sub(r"\\.", "", question, flags=re.DOTALL)
    if not pieced:
        bare = re.sub(r'"[^"]*"', "", bare)
    depth = deepest = 0
    for one in bare:
        depth += (one in "([{") - (one in ")]}")
        deepest = max(deepest, depth)
    return "/" in bare or deepest > DEPTH


def literal(word: Word) -> str:
    """Return the value of a string literal."""
    return re.sub(r"\\(.)", _unescaped, word.text[1:-1], flags=re.DOTALL)


def _unescaped(match: "re.Match[str]") -> str:
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(match[1], match[1])


def _check_depth(sequence: Sequence[Word]) -> None:
    """Raise for a text on which the parser, or the planner, would not end."""
    opened: list[str] = []
    joined, unions = [Joined()], 0
    nots = cases = parts = 0
    before = ""
    for word in sequence:
        upper = word.upper
        nots = nots + 1 if upper == "NOT" else nots if upper == "(" else 0
        cases += (upper == "CASE") - (upper == "END")
        unions += upper == "UNION"
        parts = 0 if upper == "UNION" else parts + _begins_part(upper, opened)
        joined[-1].add(upper)
        if upper in CLOSED_BY:
            opened.append(SUBQUERY if upper == "{" and before in SUBQUERY_BEGINS else upper)
            joined.append(Joined())
        elif upper in CLOSED_BY.values() and opened:
            opened.pop()
            inner = joined.pop().most
            joined[-1].deepen(inner)
        before = upper
        if (
            len(opened) + max(cases, 0) + nots > DEPTH
            or opened.count("{") + opened.count(SUBQUERY) > SUBQUERIES
            or joined[-1].most > JOINED
            or unions > UNIONS
            or parts > PARTS
        ):
            raise _Endless("cypher_nesting", word)


def _begins_part(upper: str, opened: Sequence[str]) -> bool:
    """Tell whether a word begins another column or pattern, inside of these brackets."""
    return upper == "MATCH" or (upper == "," and (not opened or opened[-1] == SUBQUERY))


def _check_regexes(sequence: Sequence[Word], parameters: Mapping[str, Any]) -> None:
    for place in _matched(sequence):
        right = sequence[place + 2 : place + 4]
        if not right or _continues(sequence, place + 2):
            raise _Endless("cypher_regex", sequence[place])
        for pattern in _texts(right[0], parameters):
            if pattern is None or not is_harmless(pattern):
                raise _Endless("cypher_regex", sequence[place])


def _matched(sequence: Sequence[Word]) -> Iterator[int]:
    """Yield the positions of `=~`."""
    for place, word in enumerate(sequence[:-1]):
        if word.text == "=" and sequence[place + 1].text == "~":
            yield place


def _continues(sequence: Sequence[Word], place: int) -> bool:
    """Tell whether a literal is a part of a longer expression; a single `|` ends one."""
    following = [one.text for one in sequence[place + 1 : place + 3]]
    if not following or following[0] not in GOES_ON:
        return False
    return following[0] != "|" or following[1:] == ["|"]


def _texts(word: Word, parameters: Mapping[str, Any]) -> Iterator[str | None]:
    """Yield the possible texts of a literal or a parameter; None for everything else."""
    if word.kind == "string":
        yield literal(word)
    elif word.text.startswith("$") and word.text[1:] in parameters:
        yield from _strings(parameters[word.text[1:]])
    else:
        yield None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _check_fulltext(sequence: Sequence[Word], parameters: Mapping[str, Any]) -> None:
    """Raise for a question to Lucene that may contain a regular expression."""
    for asked, question in _questions(sequence):
        # The value of a name is not known here: every text of the statement may be in the question.
        within = sequence if any(one.names for one in question) else question
        texts = [text for one in within for text in _texts(one, parameters) if text is not None]
        if within is sequence:
            texts += _strings(parameters)
        pieced = len(question) > 1
        if any(has_lucene_regex(text, pieced=pieced) for text in texts):
            raise _Endless("cypher_fulltext", asked)


def _questions(sequence: Sequence[Word]) -> Iterator[tuple[Word, Sequence[Word]]]:
    """Yield the questions to full-text indexes: the word that asks, and the words of the question."""
    for one in dotted(sequence):
        if one.name.lower() == QUERY_NODES:
            rest = _after(sequence, one.first, "(", frozenset())
            yield sequence[one.first], _after(rest, 0, ",", frozenset(","))
    for place, word in enumerate(sequence[:-1]):
        if word.upper == "FULLTEXT" and sequence[place + 1].upper == "INDEX":
            yield word, _after(sequence, place + 2, "FOR", frozenset({"LIMIT", "WHERE"}))


def _after(
    sequence: Sequence[Word], start: int, opener: str, ends: frozenset[str]
) -> Sequence[Word]:
    """Return the words from an opener to one of the ends, or to the bracket that closes around them."""
    while start < len(sequence) and sequence[start].upper != opener:
        start += 1
    depth = 0
    for place in range(start + 1, len(sequence)):
        upper = sequence[place].upper
        depth += (upper in CLOSED_BY) - (upper in CLOSED_BY.values())
        if depth < 0 or (not depth and upper in ends):
            return sequence[start + 1 : place]
    return sequence[start + 1 :]


def _check_ranges(sequence: Sequence[Word], parameters: Mapping[str, Any]) -> None:
    """Raise for loops inside one expression that take too many steps."""
    whole = _grouped("", iter(sequence))
    loops = Loops(parameters)
    # The lists with names are known before the loops over them are counted.
    _steps(whole, loops)
    _steps(whole, loops)


def _ranges(sequence: Sequence[Word]) -> Iterator[int]:
    """Yield the positions of calls of `range`."""
    for place, (word, following) in enumerate(pairwise(sequence)):
        if _is_range(word) and following.text == "(":
            yield place


def _is_range(word: "Word | Group | None") -> bool:
    return isinstance(word, Word) and word.names and word.name.lower() == "range"


def _grouped(opener: str, words: Iterator[Word]) -> Group:
    """Return the words up to the closing bracket, with the inner brackets as groups."""
    items: list[Word | Group] = []
    for word in words:
        if word.upper in CLOSED_BY:
            items.append(_grouped(word.upper, words))
        elif word.upper in CLOSED_BY.values():
            break
        else:
            items.append(word)
    return Group(opener, items)


def _steps(group: Group, loops: Loops, before: str = "") -> int:
    """Return the least number of steps of the loops in a group; raise if they are too many."""
    items = group.items
    source = _source(items) if before in LOOPS or group.opener == "[" else None
    inner = 1
    for place, one in enumerate(items):
        if isinstance(one, Group):
            inner = max(inner, _steps(one, loops, _upper(items, place - 1)))
        elif _is_range(one) and not _streams(items, place):
            size = _checked_size(items, place, loops)
            if place != source:
                inner = max(inner, size)
                loops.longest = max(loops.longest, size)
    if source is None:
        return inner
    length = max(_length(items, source, loops), 1)
    if length * inner > NUMBERS or (before == "REDUCE" and length > REDUCED):
        through = _item(items, source)
        raise _Endless("cypher_range", through if isinstance(through, Word) else items[source - 1])
    return length * inner


def _source(items: Sequence["Word | Group"]) -> int | None:
    """Return the index of the list that a loop iterates over; None if there is no loop."""
    return next((place + 1 for place in range(len(items)) if _upper(items, place) == "IN"), None)


def _checked_size(items: Sequence["Word | Group"], place: int, loops: Loops) -> int:
    """Return the length of a range; raise if it is too long, or unknown."""
    arguments, word = _item(items, place + 1), items[place]
    size = _size(arguments, loops.parameters) if isinstance(arguments, Group) else 1
    if size is None or size > NUMBERS:
        raise _Endless("cypher_range", word)
    return size or 1


def _streams(items: Sequence["Word | Group"], place: int) -> bool:
    """Tell whether the numbers of a range become rows one by one."""
    if _upper(items, place - 1) == "UNWIND":
        return _upper(items, place + 2) == "AS"
    if _upper(items, place - 1) == "IN" and _upper(items, place - 3) == "FOR":
        following = _item(items, place + 2)
        return not isinstance(following, Word) or following.text not in GOES_ON
    return False


def _size(arguments: Group, parameters: Mapping[str, Any]) -> int | None:
    """Return the length of a range, 1 if the size of a list ends it; None if it is unknown."""
    ends: list[list[Word | Group]] = [[]]
    for one in arguments.items:
        if isinstance(one, Word) and one.text == ",":
            ends.append([])
        else:
            ends[-1].append(one)
    values = [_number(one, parameters) for one in ends]
    if None in values or not 2 <= len(values) <= 3:
        return None
    first, last, *step = [value or 0 for value in values]
    return abs(last - first) // max(abs(step[0]) if step else 1, 1) + 1


def _number(items: Sequence["Word | Group"], parameters: Mapping[str, Any]) -> int | None:
    """Return the value of a sum of numbers, parameters and sizes, which count as 0; else None."""
    total, sign = 0, 1
    for place, one in enumerate(items):
        if isinstance(one, Group):
            if _name(items, place - 1) not in SIZES:
                return None
        elif one.text in ("+", "-"):
            sign = -1 if one.text == "-" else 1
        elif one.kind == "number" and re.fullmatch(r"\d+", one.text):
            total += sign * int(one.text)
        elif one.text.startswith("$") and type(value := parameters.get(one.text[1:])) is int:
            total += sign * value
        elif not (one.names and one.name.lower() in SIZES and _item(items, place + 1)):
            return None
    return total if items else None


def _length(items: Sequence["Word | Group"], source: int, loops: Loops) -> int:
    """Return the length of the list that a loop iterates over, as far as it is known."""
    one, following = _item(items, source), _item(items, source + 1)
    if _is_range(one) and isinstance(following, Group):
        return _size(following, loops.parameters) or 1
    if isinstance(one, Word) and one.text.startswith("$"):
        value = loops.parameters.get(one.text[1:])
        return len(value) if isinstance(value, list | tuple) else 1
    return loops.longest if isinstance(one, Word) else 1


def _item(items: Sequence["Word | Group"], place: int) -> "Word | Group | None":
    return items[place] if 0 <= place < len(items) else None


def _upper(items: Sequence["Word | Group"], place: int) -> str:
    one = _item(items, place)
    return one.upper if isinstance(one, Word) else ""


def _name(items: Sequence["Word | Group"], place: int) -> str:
    one = _item(items, place)
    return one.name.lower() if isinstance(one, Word) and one.names else ""


class _Pattern:
    """A regular expression of Java, read once from left to right."""

    def __init__(self, pattern: str) -> None:
        self._rest = list(reversed(pattern))
        self._unbounded = 0
        self._choices = 1

    def is_harmless(self) -> bool:
        """Tell whether it has few ways to fail. Raises `IndexError` or `ValueError` for a rare construct."""
        self._read_branches()
        return not self._rest and self._unbounded <= UNBOUNDED and self._choices <= CHOICES

    def _read_branches(self) -> bool:
        """Read up to a closing bracket; return whether anything in it repeats or is an alternative."""
        branches, varies = 1, False
        while self._rest and self._rest[-1] != ")":
            one = self._rest.pop()
            if one == "|":
                branches += 1
                continue
            within = self._read_group() if one == "(" else False
            if one == "[":
                self._read_class()
            elif one == "\\":
                self._read_escape()
            varies |= self._read_quantifier(repeats=within) or within
        self._choices *= branches
        return varies or branches > 1

    def _read_group(self) -> bool:
        if self._rest[-1] == "?":
            self._rest.pop()
            flags = ""
            while self._rest[-1] in "imsdu-":
                flags += self._rest.pop()
            if self._rest[-1] == ")" and flags:
                self._rest.pop()
                return False
            if self._rest.pop() != ":":
                raise ValueError("a group of a rare kind")
        varies = self._read_branches()
        self._rest.pop()
        return varies

    def _read_class(self) -> None:
        """Read a set of characters; sets inside sets are rare."""
        if self._rest[-1] == "^":
            self._rest.pop()
        first = True
        while first or self._rest[-1] != "]":
            if (one := self._rest.pop()) == "\\":
                self._read_escape()
            elif one == "[":
                raise ValueError("a set in a set")
            first = False
        self._rest.pop()

    def _read_escape(self) -> None:
        one = self._rest.pop()
        if one in "pP" and self._rest[-1] == "{":
            while self._rest.pop() != "}":
                pass
        elif one.isdigit() or one in "kQEpPxucNX":
            raise ValueError("an escape of a rare kind")

    def _read_quantifier(self, *, repeats: bool) -> bool:
        """Read the quantifier of an element that `repeats` by itself, or not; return whether it varies."""
        if not self._rest or self._rest[-1] not in "*+?{":
            return False
        sign = self._rest.pop()
        least, most = (0, 1) if sign == "?" else self._read_numbers() if sign == "{" else (0, None)
        if self._rest and self._rest[-1] in "?+":
            self._rest.pop()
        if most is None:
            self._unbounded += 1
        else:
            self._choices *= most - least + 1
        if repeats and most != 1:
            raise ValueError("a repetition of what repeats")
        return most is None or most > 1 or least != most

    def _read_numbers(self) -> tuple[int, int | None]:
        text = ""
        while (one := self._rest.pop()) != "}":
            text += one
        least, comma, most = text.partition(",")
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else None
