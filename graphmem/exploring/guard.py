"""The rules of operators' Cypher, checked against the plan that the database makes of a statement.

The operators of the plan show every action. A subquery inside an expression is not an operator: it appears,
as the planner has parsed it, in the details of the operator that evaluates it, and is looked for there. The
text itself is inspected for what a plan cannot show (a prefix, a second statement, USE), and to locate the
refused word. Forbidden words are refused in the text too, but a text that hides them fails by its plan.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from graphmem.errors import CypherMistake, CypherRefused
from graphmem.exploring import endless
from graphmem.exploring.words import Word, beside, dotted, is_called, place_of, words
from graphmem.graph.exploring import CypherPlan, Operator

PROCEDURES = frozenset(
    {
        "db.labels",
        "db.relationshipTypes",
        "db.propertyKeys",
        "db.index.fulltext.queryNodes",
        "db.index.vector.queryNodes",
    }
)
PROCEDURES_BELOW = "db.schema."
"""All procedures with this prefix may be called too."""

SHOWN_WORDS = re.compile(r"(INDEX|CONSTRAINT|FUNCTION)(E?S)?\Z")

RULES: Mapping[str, str] = {
    "cypher_write": "only statements that read are run",
    "cypher_schema": "only statements that read are run, none that change the schema",
    "cypher_administration": "commands of administration are not run",
    "cypher_transaction": "a statement is its own transaction: leave out what begins or ends one",
    "cypher_in_transactions": "CALL … IN TRANSACTIONS is not run: leave out IN TRANSACTIONS",
    "cypher_procedure": "of procedures only db.labels, db.relationshipTypes, db.propertyKeys, db.schema.*, "
    "db.index.fulltext.queryNodes and db.index.vector.queryNodes may be called",
    "cypher_function": "only Neo4j's own functions may be called (SHOW FUNCTIONS lists them)",
    "cypher_load_csv": "LOAD CSV is not run: it reads files and addresses from the server's machine",
    "cypher_show": "of SHOW only INDEXES, CONSTRAINTS and FUNCTIONS may be asked",
    "cypher_use": "USE is not run: there is one graph to be asked",
    "cypher_statements": "one statement at a time: send the others by themselves",
    "cypher_prefix": "EXPLAIN and PROFILE are left out: every answer has a plan_summary",
    "cypher_options": "of options only `CYPHER 25` and `CYPHER 5` may stand before a statement",
    **endless.RULES,
}
"""The refusals, by the rule's code, and the remedies."""

# First words of statements that do not only read, apart from CREATE, which the plan shows.
TRANSACTION = {"BEGIN", "COMMIT", "ROLLBACK"}
ADMINISTRATION = {
    *("ALTER", "DEALLOCATE", "DENY", "DROP", "DRYRUN", "ENABLE", "GRANT"),
    *("REALLOCATE", "RENAME", "REVOKE", "START", "STOP", "TERMINATE"),
}
HIDDEN = (
    *("ALIAS", "ALIASES", "ALL", "AUTH", "BUILT", "COMPOSITE", "CURRENT", "DATABASE", "DATABASES"),
    *("DEFAULT", "EXECUTABLE", "HOME", "POPULATED", "PRIVILEGE", "PRIVILEGES", "PROCEDURE"),
    *("PROCEDURES", "ROLE", "ROLES", "SERVER", "SERVERS", "SETTING", "SETTINGS", "SUPPORTED"),
    *("TRANSACTION", "TRANSACTIONS", "USER", "USERS"),
)
"""Words after SHOW that are refused, unless INDEX, CONSTRAINT or FUNCTION follows them."""

OPERATORS: Mapping["re.Pattern[str]", str] = {
    re.compile(r"LoadCSV"): "cypher_load_csv",
    re.compile(r"Show(?!(Indexes|Constraints|Functions)\Z)"): "cypher_show",
    re.compile(r"Transaction"): "cypher_in_transactions",
    re.compile(r"Terminate|\w*Command\Z"): "cypher_administration",
    re.compile(r"(Create|Drop|Alter)\w*(Index|Constraint|GraphType)"): "cypher_schema",
    re.compile(r"Create|Merge|Delete|DetachDelete|Remove|Set[A-Z]|Foreach"): "cypher_write",
}
"""The refused operators, by the start of their names, and their rules."""

WRITERS = ("CREATE", "MERGE", "INSERT", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH", "DROP")
AFTER_A_VALUE = {
    *("AND", "CONTAINS", "ELSE", "END", "ENDS", "IN", "IS", "OR", "STARTS", "WHEN", "XOR"),
}

REFUSED_CODES: Mapping[str, str] = {
    # Unreachable parts are not in the plan, but a read-only session refuses them all the same.
    "AccessMode": "cypher_write",
    "UnsupportedAdministrationCommand": "cypher_administration",
    "RuntimeUnsupportedError": "cypher_administration",
    "DatabaseNotFound": "cypher_use",
}
"""Neo4j's own refusals, by the end of their codes, and our rules."""

SENTENCES = {
    "Expected exactly one statement": "cypher_statements",
    "conflicting values for execution mode": "cypher_prefix",
}


class Function(Struct, frozen=True):
    """A function on the server, and whether it is one of Neo4j's own."""

    name: str
    own: bool


class Called(Struct, frozen=True):
    """A function that a statement calls, and its offset, if it is in the text."""

    name: str
    start: int | None


class StatementText:
    """The text of a statement, and its words."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.words = words(query)
        self.body = _after_preamble(self.words)

    def refused(self, rule: str, start: int | None = None, what: str = "") -> CypherRefused:
        """Return the refusal of a rule, with the place of the refused word."""
        place = None if start is None else place_of(self.query, start)
        sentence = f"{what}: {RULES[rule]}" if what else RULES[rule]
        where = (place.line, place.column, place.offset) if place else None
        return CypherRefused(rule, sentence, where)

    @property
    def names_its_language(self) -> bool:
        """Whether the statement names its version of Cypher."""
        return bool(self.words) and self.words[0].upper == "CYPHER"

    @property
    def names(self) -> set[str]:
        """The names in the text."""
        return {one.name for one in self.words if one.names}

    def functions(self) -> list["Called"]:
        """Return the called functions that have a dot in their names."""
        names = (one for one in dotted(self.words) if not is_called(self.words, one.first))
        return [Called(one.name, one.start) for one in names]


def check_text(text: StatementText, parameters: Mapping[str, Any]) -> None:
    """Raise `CypherRefused` for a forbidden word in the text, or for work that could not be interrupted."""
    _check_empty(text)
    _check_prefix(text)
    _check_head(text)
    _check_use(text)
    for one in dotted(text.words):
        if is_called(text.words, one.first) and not may_be_called(one.name):
            raise text.refused("cypher_procedure", one.start, one.name)
    _check_words(text, text.words)
    endless.check_endless(text.query, text.words, parameters)


def check_plan(plan: CypherPlan, text: StatementText, *, database: str) -> None:
    """Raise `CypherRefused` for a forbidden action in the plan."""
    told = endless.kinds(text.words)
    for operator in plan.operators:
        rule = _rule_of(operator)
        if rule:
            raise text.refused(rule, _place_of(rule, text), _named(rule, operator))
        _check_details(operator, text)
        for rule in sorted(endless.kinds(words(operator.details, escaped=False)) - told):
            raise text.refused(rule)
    if any(one.database != database for one in plan.operators if one.database):
        raise text.refused("cypher_use", _place_of("cypher_use", text))
    if plan.kind != "r":
        rule = "cypher_write" if "w" in plan.kind else "cypher_administration"
        raise text.refused(rule, _place_of(rule, text))


def check_functions(
    text: StatementText, called: Sequence[Called], functions: Collection[Function]
) -> None:
    """Raise `CypherRefused` for a function that is not one of Neo4j's own.

    An unknown function in a namespace of Neo4j's own functions is left to Neo4j's error message.
    """
    own = {one.name.lower(): one.own for one in functions}
    beginnings = {_beginning(name) for name, is_own in own.items() if is_own and "." in name}
    for one in called:
        name = one.name.lower()
        if not own.get(name, _beginning(name) in beginnings):
            raise text.refused("cypher_function", one.start, one.name)


def functions_in(plan: CypherPlan) -> list[Called]:
    """Return the functions with a dot in their names that are called in a plan's expressions."""
    found = []
    for operator in plan.operators:
        if "." in operator.details and "ProcedureCall" not in operator.name:
            inner = words(operator.details, escaped=False)
            names = (one for one in dotted(inner) if not is_called(inner, one.first))
            found += [Called(one.name, None) for one in names]
    return found


def refused(mistake: CypherMistake, text: StatementText) -> CypherRefused | None:
    """Return the refusal of a statement that Neo4j refuses itself; None for a mistake in its Cypher."""
    code = mistake.neo4j_code.rpartition(".")[2]
    rule = REFUSED_CODES.get(code) or next(
        (rule for part, rule in SENTENCES.items() if part in str(mistake)), None
    )
    return text.refused(rule, _place_of(rule, text)) if rule else None


def may_be_called(procedure: str) -> bool:
    """Tell whether a procedure only describes the graph."""
    return procedure in PROCEDURES or procedure.startswith(PROCEDURES_BELOW)


def _after_preamble(sequence: Sequence[Word]) -> int:
    """Return the index of the first word after CYPHER and its options."""
    place = 0
    while place < len(sequence):
        if sequence[place].upper in {"EXPLAIN", "PROFILE"}:
            place += 1
        elif sequence[place].upper == "CYPHER":
            place += 1
            if place < len(sequence) and sequence[place].kind == "number":
                place += 1
        elif place and place + 2 < len(sequence) and sequence[place + 1].text == "=":
            place += 3
        else:
            break
    return place


def _check_empty(text: StatementText) -> None:
    """Raise `CypherMistake` for an empty statement; Neo4j would quote the text that we prepend."""
    if all(one.text == ";" for one in text.words[text.body :]):
        end = place_of(text.query, len(text.query))
        where = (end.line, end.column, end.offset)
        place = "(line {}, column {} (offset: {}))".format(*where)
        raise CypherMistake(f"there is no statement in it: write one that reads {place}", where)


def _check_prefix(text: StatementText) -> None:
    preamble = text.words[: text.body]
    for one in preamble:
        if one.upper in {"EXPLAIN", "PROFILE"}:
            raise text.refused("cypher_prefix", one.start)
        if one.upper == "=":
            raise text.refused("cypher_options", one.start)
    for one, following in zip(text.words, text.words[1:], strict=False):
        if one.text == ";" and following.text != ";":
            raise text.refused("cypher_statements", following.start)


def _check_head(text: StatementText) -> None:
    if text.body >= len(text.words):
        return
    head = text.words[text.body]
    following = text.words[text.body + 1].upper if text.body + 1 < len(text.words) else ""
    if head.upper in TRANSACTION or (head.upper, following) == ("START", "TRANSACTION"):
        raise text.refused("cypher_transaction", head.start)
    if head.upper in ADMINISTRATION:
        schema = following in {"INDEX", "CONSTRAINT"}
        raise text.refused("cypher_schema" if schema else "cypher_administration", head.start)


def _check_use(text: StatementText) -> None:
    for place, one in enumerate(text.words[:-1]):
        following = text.words[place + 1]
        if one.upper != "USE" or not following.names:
            continue
        if place == text.body or _begins_a_part(text.words, place, following):
            raise text.refused("cypher_use", one.start)


def _begins_a_part(sequence: Sequence[Word], place: int, following: Word) -> bool:
    """Tell whether a clause begins at a word, and not a value with the name of one."""
    before = sequence[place - 1].upper if place else ""
    if before in {"ALL", "DISTINCT"}:
        return place > 1 and sequence[place - 2].upper == "UNION"
    if before in {"THEN", "ELSE"}:
        return following.upper not in AFTER_A_VALUE
    return before in {"{", "UNION", "NEXT"}


def _check_words(text: StatementText, sequence: Sequence[Word], *, placed: bool = True) -> None:
    """Reject adjacent keywords that only occur in commands (LOAD CSV, SHOW USERS, TERMINATE TRANSACTIONS).

    With `placed`, the positions of the words are those in the text.
    """
    load = beside(sequence, "LOAD", "CSV")
    if load:
        start = load.start if placed else _place_of("cypher_load_csv", text)
        raise text.refused("cypher_load_csv", start)
    for place, one in enumerate(sequence):
        if one.upper == "TERMINATE" and _upper(sequence, place + 1).startswith("TRANSACTION"):
            start = one.start if placed else None
            raise text.refused("cypher_administration", start)
        if one.upper == "SHOW" and _upper(sequence, place + 1) in HIDDEN:
            shown = [_upper(sequence, place + step) for step in range(1, 5)]
            if not any(SHOWN_WORDS.match(word) for word in shown):
                start = one.start if placed else _place_of("cypher_show", text)
                raise text.refused("cypher_show", start)


def _check_details(operator: Operator, text: StatementText) -> None:
    """Raise for a forbidden action in a subquery of an operator's expressions."""
    if "{" not in operator.details:
        return
    inner = words(operator.details, escaped=False)
    _check_words(text, inner, placed=False)
    for place, one in enumerate(inner[:-1]):
        if one.text == "CALL" and inner[place + 1].names:
            name, end = _name_at(inner, place + 1)
            if end < len(inner) and inner[end].text in {"(", "{"} and not may_be_called(name):
                start = _place_of("cypher_procedure", text)
                raise text.refused("cypher_procedure", start, name)


def _rule_of(operator: Operator) -> str | None:
    """Return the rule that forbids an operator."""
    name = operator.name
    if "ProcedureCall" in name:
        called = operator.details.partition("(")[0]
        return None if may_be_called(called) else "cypher_procedure"
    return next((rule for shape, rule in OPERATORS.items() if shape.match(name)), None)


def _named(rule: str, operator: Operator) -> str:
    return operator.details.partition("(")[0] if rule == "cypher_procedure" else ""


def _place_of(rule: str, text: StatementText) -> int | None:
    """Return the most likely offset of the word that a rule forbids."""
    wanted = {
        "cypher_write": WRITERS,
        "cypher_schema": ("CREATE", "DROP", "ALTER"),
        "cypher_procedure": ("CALL",),
        "cypher_show": ("SHOW",),
        "cypher_load_csv": ("LOAD",),
        "cypher_in_transactions": ("TRANSACTIONS", "TRANSACTION"),
        "cypher_use": ("USE",),
        "cypher_prefix": ("PROFILE", "EXPLAIN"),
    }.get(rule)
    if wanted is None:
        return text.words[text.body].start if text.body < len(text.words) else None
    for place, one in enumerate(text.words):
        if one.upper in wanted and not (place and text.words[place - 1].text in {".", ":", "AS"}):
            return one.start
    return None


def _beginning(name: str) -> str:
    return name.partition(".")[0]


def _name_at(sequence: Sequence[Word], place: int) -> tuple[str, int]:
    parts = [sequence[place].name]
    while place + 2 < len(sequence) and sequence[place + 1].text == ".":
        place += 2
        parts.append(sequence[place].name)
    return ".".join(parts), place + 1


def _upper(sequence: Sequence[Word], place: int) -> str:
    return sequence[place].upper if place < len(sequence) else ""
