"""Aliases: which names have the same meaning, by rules that need no language model.

A false alias is worse than none: where a rule finds two candidates it decides nothing. Each name takes at
most one step, to a name that says more; following the steps leads to the name of the whole group.

| Rule | An example | Condition |
|---|---|---|
| `manual` | any two names | a caller joined them; it wins over all other rules |
| `spelling` | `retry_policy`, `retry-policy`, `RetryPolicy`; `José`, `Jose`; `AT & T` | the same words |
| `known` | `Postgres` → `PostgreSQL` | the pair is in `KNOWN` |
| `plural` | `APIs` → `API` | an abbreviation in capitals, and an s |
| `path` | `retry.py` → `src/net/retry.py` | all paths that end so are ends of that one |
| `first_name` | `Anna` → `Anna Schmidt` | one family name follows the given name; used together |
| `acronym` | `CI` → `Continuous Integration` | a text spells it out, and no text otherwise |

Names are used together when one source uses both, or when both occur in conversations and notes: an
encyclopedia has an Anna on every page, a life has few. Single words that differ only in diacritics, as `Iván`
and `Ivan`, must be used together too.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from graphmem.model.vocabulary import AliasRule
from graphmem.text.common_words import FUNCTION_WORDS, GIVEN_NAMES, NO_FAMILY_NAMES
from graphmem.text.entities import SEEN_CHARACTERS
from graphmem.text.identifiers import FILE, LONGEST

KNOWN: Mapping[str, str] = {
    "a11y": "accessibility",
    "aws": "amazon web services",
    "gcp": "google cloud platform",
    "i18n": "internationalization",
    "k8s": "kubernetes",
    "l10n": "localization",
    "mongo": "mongodb",
    "node js": "node.js",
    "nodejs": "node.js",
    "postgres": "postgresql",
    "vs code": "visual studio code",
    "vscode": "visual studio code",
}
"""Short names, and the names that they always mean, both in normal form."""

EVERYWHERE = frozenset(
    """
    __init__.py __main__.py app.js app.py app.ts build.gradle build.xml cargo.toml changelog.md
    config.json config.py config.toml config.yaml config.yml conftest.py docker-compose.yml go.mod
    index.css index.html index.js index.jsx index.md index.ts index.tsx lib.rs license.txt main.c
    main.cpp main.css main.go main.java main.js main.py main.rs main.ts mod.rs models.py package.json
    pom.xml pyproject.toml readme.md readme.rst readme.txt requirements.txt routes.py settings.json
    settings.py setup.cfg setup.py test.js test.py tests.py tsconfig.json types.py types.ts urls.py
    util.py utils.js utils.py utils.ts views.py
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Files that many folders have: their bare names stand for no path."""

_FILE_IN_A_FOLDER = re.compile(rf".*[/\\]({FILE.pattern})")
_HERE = re.compile(r"^(?:\.{1,2}/)+")
_ROOT = re.compile(r"[/~]|\w:/")
_VERBATIM = re.compile(r"[/\\@:]|\w\.\w")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?")
_SEAM = re.compile(r"[_‐‑–-]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ABBREVIATIONS = re.compile(r"[A-Z][A-Z0-9]+s")
_ABBREVIATION = re.compile(r"[A-Z][A-Z0-9]+")
_NAMED = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Words between two names that no family name follows.
_JOINING = frozenset("and at et for from in of on or to und vs with y".split())  # noqa: SIM905


class Spelling(Struct, frozen=True):
    """The words of a name for comparison, and its short form; '' for none."""

    spelled: str
    short: str = ""


class Named(Struct, frozen=True, kw_only=True):
    """A name, and all that the graph holds of it."""

    normalized: str
    name: str
    spelled: str
    short: str = ""
    forms: Sequence[str] = ()
    """The long forms that texts give of it, in normal form."""
    sources: Sequence[str] = ("",)
    """The sources that use it; '' for all conversations and notes."""
    apart: Sequence[str] = ()
    """The names that a caller has separated from it, in either direction."""
    alias_of: str = ""
    rule: AliasRule | None = None
    of: str = ""
    """The target of its own step: `alias_of`, or a name that is itself an alias of that."""


class AliasStep(Struct, frozen=True):
    """The step from a name to another one, and its rule."""

    of: str
    rule: AliasRule


class DecidedAlias(Struct, frozen=True):
    """A name of a group, the canonical name of the group, and the step that the former takes."""

    alias: str
    canonical: str
    rule: AliasRule
    of: str


def spelling(name: str, normalized: str) -> Spelling:
    """Return the spelling of a name and its short form, from the way it was first written."""
    words = [word for part in _cased(name, normalized).split() for word in _words(part)]
    spelled = " ".join(words) or normalized
    return Spelling(spelled, _short(name, normalized, words))


def singular(name: str, spelled: str) -> str:
    """Return the spelling of an abbreviation's singular, `api` for `APIs`; '' where it is no plural."""
    last = re.split(r"[\s_-]", name.strip())[-1]
    return spelled[:-1] if _ABBREVIATIONS.fullmatch(last) else ""


def keys(one: Named) -> set[str]:
    """Return the spellings of all names that a name may mean, or that may mean it."""
    return {one.spelled, one.short, singular(one.name, one.spelled), *_plural(one)} - {""}


def met(names: Iterable[str]) -> set[str]:
    """Return the given names among the normal forms of a text that also has a longer name with them."""
    forms = list(names)
    given = {form for form in forms if _plain(form) in GIVEN_NAMES}
    if not given:
        return set()
    longer = [form.split(" ") for form in forms if " " in form]
    return given & {words[0] for words in longer if words[1] not in _JOINING}


def known_names(one: Named) -> set[str]:
    """Return the names in normal form that `KNOWN` gives the same meaning as a name."""
    shorter = {short for short, name in KNOWN.items() if name == one.normalized}
    return (shorter | {KNOWN.get(one.normalized, "")}) - {""}


def decided(named: Iterable[Named], crowded: Collection[str] = ()) -> list[DecidedAlias]:
    """Return the aliases among some names, one level deep: every alias leads to the name of its group.

    The order of the names does not matter. `crowded` are spellings and short forms of too many names to
    read them all: they decide nothing.
    """
    known = _NameIndex(sorted(named, key=lambda one: one.normalized), crowded)
    steps = {one.normalized: step for one in known.named if (step := known.step(one))}
    _break_circles(steps)
    return _grouped(known, steps)


class _NameIndex:
    """Some names, indexed by the keys of the rules."""

    def __init__(self, named: Sequence[Named], crowded: Collection[str]) -> None:
        self.named = named
        self.by_name = {one.normalized: one for one in named}
        self._crowded = crowded
        self._by_spelling: dict[str, list[Named]] = defaultdict(list)
        self._by_short: dict[str, list[Named]] = defaultdict(list)
        for one in named:
            self._by_spelling[one.spelled].append(one)
            if one.short:
                self._by_short[one.short].append(one)

    def step(self, one: Named) -> AliasStep | None:
        """Return the step of a name: the manual one, else that of the first rule that finds one."""
        if one.rule == "manual" and one.of in self.by_name:
            return AliasStep(one.of, "manual")
        head = self._head(one.spelled)
        if head is None or one is not head:
            return self._respelled(one, head) if head else None
        found: tuple[tuple[AliasRule, Named | None], ...] = (
            ("known", self._known_name(one)),
            ("plural", self._singular(one)),
            ("path", self._path(one)),
            ("first_name", self._full_name(one)),
            ("acronym", self._form(one)),
        )
        return next(
            (
                AliasStep(other.normalized, rule)
                for rule, other in found
                if other and not apart(one, other)
            ),
            None,
        )

    def _respelled(self, one: Named, head: Named) -> AliasStep | None:
        marked = (
            _plain(one.normalized) != one.normalized or _plain(head.normalized) != head.normalized
        )
        if apart(one, head) or (marked and " " not in one.spelled and not _together([one], [head])):
            return None
        return AliasStep(head.normalized, "spelling")

    def _head(self, spelled: str) -> Named | None:
        """Return the most readable of all names with this spelling, which represents them."""
        same = self._by_spelling.get(spelled)
        if not same or spelled in self._crowded:
            return None
        return min(same, key=_readable)

    def _known_name(self, one: Named) -> Named | None:
        """Return the name that `KNOWN` gives for a short name."""
        names = (self.by_name.get(KNOWN.get(same.normalized, "")) for same in self._same(one))
        return next((self._head(name.spelled) for name in names if name), None)

    def _singular(self, one: Named) -> Named | None:
        other = self._head(singular(one.name, one.spelled))
        return other if other and any(map(_abbreviates, self._same(other))) else None

    def _path(self, one: Named) -> Named | None:
        """Return the longest path with this end, if all other paths with this end are ends of it."""
        base = one.short or one.normalized
        if base in self._crowded or base in EVERYWHERE or not FILE.fullmatch(base):
            return None
        ending = [
            other
            for other in self._by_short.get(base, ())
            if other is not one and _ends(other, one)
        ]
        longest = max(ending, key=lambda other: (len(_path(other)), other.normalized), default=None)
        if longest is None or not all(_is_or_ends(longest, other) for other in ending):
            return None
        return longest

    def _full_name(self, one: Named) -> Named | None:
        """Return the only full name that begins with a given name."""
        given = one.spelled in GIVEN_NAMES and one.name[:1].isupper()
        if not given or one.spelled in self._crowded:
            return None
        longer = self._by_short.get(one.spelled, ())
        if len({_family(other) for other in longer}) != 1:
            return None
        whole = [other for other in longer if _is_full_name(other)]
        if not whole or not _together(self._same(one), longer):
            return None
        return self._head(whole[0].spelled)

    def _form(self, one: Named) -> Named | None:
        """Return the long form of an abbreviation, where no two texts disagree."""
        forms = {
            known.spelled if (known := self.by_name.get(form)) else form
            for same in self._same(one)
            for form in same.forms
        }
        return self._head(next(iter(forms))) if len(forms) == 1 else None

    def _same(self, one: Named) -> Sequence[Named]:
        return self._by_spelling[one.spelled]


def apart(one: Named, other: Named) -> bool:
    """Tell whether a caller has separated two names."""
    return other.normalized in one.apart or one.normalized in other.apart


def _together(some: Iterable[Named], others: Iterable[Named]) -> bool:
    """Tell whether one source, or conversations and notes, use both names."""
    used = {source for one in some for source in one.sources}
    return any(source in used for one in others for source in one.sources)


def _break_circles(steps: dict[str, AliasStep]) -> None:
    """Remove the rules' steps that lead back to their beginning; manual steps stay."""
    for name in sorted(steps):
        seen, at = {name}, name
        while (step := steps.get(at)) and step.of not in seen:
            seen.add(at := step.of)
        if step and step.of == name and steps[name].rule != "manual":
            del steps[name]


def _grouped(known: _NameIndex, steps: Mapping[str, AliasStep]) -> list[DecidedAlias]:
    """Return the alias of every name; none joins a group from whose members a caller separated it."""
    groups: dict[str, list[Named]] = {}
    heads: dict[str, str] = {}
    for one in sorted(known.named, key=lambda one: (_depth(one.normalized, steps), one.normalized)):
        step = steps.get(one.normalized)
        head = heads.get(step.of) if step else None
        if step is None or head is None:
            joins = False
        else:
            joins = step.rule == "manual" or not any(apart(one, other) for other in groups[head])
        heads[one.normalized] = head if joins and head else one.normalized
        groups.setdefault(heads[one.normalized], []).append(one)
    return [
        DecidedAlias(name, head, steps[name].rule, steps[name].of)
        for name, head in sorted(heads.items())
        if name != head
    ]


def _depth(name: str, steps: Mapping[str, AliasStep]) -> int:
    """Return the number of steps from a name to the name of its group."""
    depth = 0
    while (step := steps.get(name)) and depth <= len(steps):
        name, depth = step.of, depth + 1
    return depth


def _cased(name: str, normalized: str) -> str:
    """Return the part of a name that its normal form keeps, with its original case."""
    shown = unicodedata.normalize("NFKC", name).replace("’", "'")
    shown = re.sub(r"\s+", " ", shown)
    start = shown.casefold().find(normalized)
    same_length = len(shown.casefold()) == len(shown)
    return shown[start : start + len(normalized)] if start >= 0 and same_length else normalized


def _words(part: str) -> list[str]:
    """Return the words of a part between two spaces; a path, an address or a file is one word."""
    part = part.strip(",;!?")
    if part == "&":
        return ["and"]
    if _INITIALS.fullmatch(part):
        return [_plain(part.replace(".", ""))]
    part = part.rstrip(".")
    if _VERBATIM.search(part) or _ABBREVIATIONS.fullmatch(part):
        return [_plain(part)]
    return [_plain(word.replace("'", "")) for word in _SEAM.split(part) if word.strip("'")]


def _plain(word: str) -> str:
    """Return a word without case, and its Latin letters without diacritics."""
    return "".join(map(_unmarked, word.casefold()))


def _unmarked(letter: str) -> str:
    base = unicodedata.normalize("NFD", letter)[0]
    return base if base.isascii() else letter


def _short(name: str, normalized: str, words: Sequence[str]) -> str:
    """Return the short form of a name: a path's file, a full name's given name."""
    if file := _FILE_IN_A_FOLDER.fullmatch(normalized):
        return "" if file[1] in EVERYWHERE else file[1]
    given = len(words) > 1 and words[0] in GIVEN_NAMES and name[:1].isupper()
    return words[0] if given and words[1] not in _JOINING else ""


def _plural(one: Named) -> list[str]:
    return [f"{one.spelled}s"] if _abbreviates(one) else []


def _abbreviates(one: Named) -> bool:
    return _ABBREVIATION.fullmatch(re.split(r"[\s_-]", one.name.strip())[-1]) is not None


def _readable(one: Named) -> tuple[int, int, int, str]:
    """Return the sort key of names of one spelling: separate words before joined, diacritics before none."""
    return (
        -one.normalized.count(" "),
        one.normalized.isascii(),
        sum(one.normalized.count(mark) for mark in "_-."),
        one.normalized,
    )


def _path(one: Named) -> str:
    """Return a path with slashes, without a beginning of `./` and `../`."""
    return _HERE.sub("", one.normalized.replace("\\", "/"))


def _ends(path: Named, end: Named) -> bool:
    """Tell whether a path ends with another, relative one."""
    return _path(path).endswith(f"/{_path(end)}") and not _ROOT.match(_path(end))


def _is_or_ends(path: Named, end: Named) -> bool:
    return _path(path) == _path(end) or _ends(path, end)


def _family(one: Named) -> str:
    """Return the word after a given name, `schmidt` of `Anna Schmidt's Cafe` too."""
    word = one.spelled.split()[1]
    return word[:-1] if f"{word[:-1]}'s" in _plain(one.normalized) else word


def _is_full_name(one: Named) -> bool:
    """Tell whether a name is a given and a family name, and not something else with a given name."""
    words = one.name.split()
    if len(words) != 2 or not all(_NAMED.fullmatch(word) and word[0].isupper() for word in words):
        return False
    return words[1].casefold() not in NO_FAMILY_NAMES | FUNCTION_WORDS


MOST = 32
"""The maximum number of short forms of a text."""

# Most texts have none and are skipped.
_HINT = re.compile(r"[(][^\W\d_]")
_SHORT = r"[A-Z](?:[A-Za-z]{0,7}[A-Z]|[A-Z])s?"
_AFTER = re.compile(rf"[(]({_SHORT})[)]")
_BEFORE = re.compile(rf"(?<![\w.@#-])({_SHORT})[ ][(]([^()\n]{{3,{LONGEST}}})[)]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDS = re.compile(r"[.!?…;:,(){}\[\]\n\"“”„«»|]")
_SMALL = frozenset("a an and de der des di du for in la le of on or the to und von with".split())  # noqa: SIM905


class SpelledOut(Struct, frozen=True):
    """A short form and its long form, both in their original spelling."""

    short: str
    form: str


def spelled_out(text: str) -> list[SpelledOut]:
    """Return the short forms that a text spells out, each pair once, in order, at most `MOST`."""
    text = text[:SEEN_CHARACTERS]
    if not _HINT.search(text):
        return []
    found = sorted([*_standing_before(text), *_standing_inside(text)], key=lambda one: one[0])
    return list(dict.fromkeys(pair for _, pair in found))[:MOST]


def _standing_before(text: str) -> Iterator[tuple[int, SpelledOut]]:
    """Yield the long forms before a short form in parentheses, with their places."""
    for match in _AFTER.finditer(text):
        before = text[max(match.start() - LONGEST, 0) : match.start()].rstrip(" ")
        clause = _ENDS.split(before)[-1]
        words = list(_WORD.finditer(clause))
        start = _first(match[1].removesuffix("s"), [word[0] for word in words])
        if start is not None:
            yield match.start(), SpelledOut(match[1], clause[words[start].start() :].strip())


def _standing_inside(text: str) -> Iterator[tuple[int, SpelledOut]]:
    """Yield the long forms in parentheses after a short form, with their places."""
    for match in _BEFORE.finditer(text):
        words = list(_WORD.finditer(match[2]))
        start = _first(match[1].removesuffix("s"), [word[0] for word in words])
        if start is not None and all(word[0].casefold() in _SMALL for word in words[:start]):
            yield match.start(), SpelledOut(match[1], match[2][words[start].start() :].strip())


def _first(short: str, words: Sequence[str]) -> int | None:
    """Return the place of the word that a short form's first letter stands for; None if they do not fit.

    Every letter is a word's initial, from the last word back; only small words have none.
    """
    place, letters = len(words) - 1, short.casefold()
    for letter in reversed(letters):
        while place >= 0 and not words[place].casefold().startswith(letter):
            if words[place].casefold() not in _SMALL:
                return None
            place -= 1
        if place < 0:
            return None
        place -= 1
    first = place + 1
    return first if len(words) - first >= 2 else None
