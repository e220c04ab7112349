"""Which names mean the same: the rules, what is too little for them, and that order does not matter."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from graphmem.model.vocabulary import AliasRule
from graphmem.text.aliases import Named, decided, met, spelling
from graphmem.text.common_words import GIVEN_NAMES, NO_FAMILY_NAMES
from graphmem.text.entities import displayed, normalized


def named(name: str, *forms: str, **said: Any) -> Named:
    """Return a name as the graph has it, with what texts say that it stands for."""
    form = normalized(name)
    keys = spelling(displayed(name), form)
    return Named(
        normalized=form,
        name=displayed(name),
        spelled=keys.spelled,
        short=keys.short,
        forms=[normalized(one) for one in forms],
        **said,
    )


def found(*names: str | Named, **other: Any) -> dict[str, tuple[str, AliasRule]]:
    """Return what names are aliases of, and by which rule."""
    given = [one if isinstance(one, Named) else named(one) for one in names]
    return {one.alias: (one.canonical, one.rule) for one in decided(given, **other)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("RetryPolicy", "retry_policy"),
        ("retry-policy", "retry_policy"),
        ("RETRY_POLICY", "Retry Policy"),
        ("HTTPServer", "http_server"),
        ("get_user()", "getUser"),
        ("José García", "Jose Garcia"),
        ("Zürich", "Zurich"),
        ("Marks & Spencer", "Marks and Spencer"),
        ("Men's Health", "Mens Health"),
        ("U.S. Army", "US Army"),
        ("J.R.R. Tolkien", "JRR Tolkien"),
        ("Acme Inc.", "Acme, Inc"),
        ("Spider-Man", "Spider Man"),
        ("GitHub", "Git Hub"),
        ("the McDonald's", "Mc Donald"),
    ],
)
def test_the_same_words_are_one_name(one: str, other: str) -> None:
    [(alias, (canonical, rule))] = found(one, other).items()
    assert rule == "spelling"
    assert {alias, canonical} == {normalized(one), normalized(other)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ed Ward", "Edward"),
        ("resort", "re-sort"),
        ("retry_policy.py", "retry-policy.py"),
        ("src/retry_policy", "src/retry-policy"),
        ("ERR-1-23", "ERR-12-3"),
        ("C", "C++"),
        ("AT&T", "AT and T"),
        ("Андрей", "Андреи"),
        ("が", "か"),
        ("retry_policy", "retry_policies"),
        ("Adams", "Adam"),
        ("Windows", "Window"),
        ("Mars", "Mar"),
        ("Apis", "API"),
        ("Google", "Google Maps"),
        ("Berlin", "Berlin Wall"),
        ("Project", "Project Beacon"),
        ("Beacon", "Project Beacon"),
        ("Paris", "Paris Hilton"),
        ("Anna", "Anna University"),
        ("Anna", "Anna Schmidt Foundation"),
        ("Anna", "Anna and Ben"),
        ("CI", "Continuous Integration"),
        ("retry.py", "src/try.py"),
        ("/net/retry.py", "/src/net/retry.py"),
        ("__init__.py", "src/net/__init__.py"),
        ("README.md", "docs/README.md"),
        ("Go", "Golang"),
    ],
)
def test_what_is_not_certain_is_two_names(one: str, other: str) -> None:
    assert found(one, other) == {}


@pytest.mark.parametrize(
    ("alias", "canonical", "rule"),
    [
        ("Postgres", "PostgreSQL", "known"),
        ("VS Code", "Visual Studio Code", "known"),
        ("k8s", "Kubernetes", "known"),
        ("APIs", "API", "plural"),
        ("REST APIs", "REST API", "plural"),
        ("retry.py", "src/net/retry.py", "path"),
        ("net/retry.py", "src/net/retry.py", "path"),
        ("retry.py", r"C:\src\retry.py", "path"),
        ("Anna", "Anna Schmidt", "first_name"),
        ("José", "José García", "first_name"),
        ("Jose", "José García", "first_name"),
    ],
)
def test_what_says_less_means_what_says_more(alias: str, canonical: str, rule: AliasRule) -> None:
    assert found(alias, canonical) == {normalized(alias): (normalized(canonical), rule)}


def test_an_abbreviation_means_what_the_texts_agree_on() -> None:
    names = [named("CI", "Continuous Integration"), named("Continuous Integration")]
    assert found(*names) == {"ci": ("continuous integration", "acronym")}
    also = named("CI", "Continuous Integration", "continuous-integration")
    assert found(also, *names[1:], "Continuous-Integration")["ci"] == (
        "continuous integration",
        "acronym",
    )
    torn = named("CI", "Continuous Integration", "Corporate Identity")
    assert found(torn, *names[1:], "Corporate Identity") == {}


def test_in_sources_only_names_of_one_source_mean_a_person() -> None:
    whole = named("Anna Schmidt", sources=["wiki-1", "wiki-2"])
    assert found(named("Anna", sources=["wiki-3"]), whole) == {}
    assert found(named("Anna", sources=[""]), whole) == {}
    same = {"anna": ("anna schmidt", "first_name")}
    assert found(named("Anna", sources=["wiki-3", "wiki-2"]), whole) == same
    assert found(named("Anna", sources=["", "x"]), named("Anna Schmidt", sources=["", "y"])) == same


def test_a_given_name_meets_a_full_name_in_one_text() -> None:
    assert met(["anna", "ben", "anna schmidt", "google", "google maps", "josé", "josé lee"]) == {
        "anna",
        "josé",
    }
    assert met(["anna schmidt", "paris", "paris hilton"]) == set()


def test_single_words_that_marks_alone_tell_apart_must_be_used_together() -> None:
    ivan = named("Ivan", sources=["wiki-1"])
    assert found(ivan, named("Iván", sources=["wiki-2"])) == {}
    assert found(ivan, named("Iván", sources=["wiki-1"])) == {"ivan": ("iván", "spelling")}
    longer = [named("David Immerglück", sources=["a"]), named("David Immergluck", sources=["b"])]
    assert len(found(*longer)) == 1
    assert (
        len(found(named("RetryPolicy", sources=["a"]), named("retry_policy", sources=["b"]))) == 1
    )


def test_a_second_of_the_name_takes_the_alias_back() -> None:
    both = ["Anna", "Anna Schmidt", "Anna Schmidt's Cafe", "Anna and Ben"]
    assert found(*both) == {"anna": ("anna schmidt", "first_name")}
    assert found(*both, "Anna Müller") == {}
    assert found(*both, "Anna Maria Schmidt") == {}
    paths = ["retry.py", "net/retry.py", "src/net/retry.py"]
    assert set(found(*paths)) == {"retry.py", "net/retry.py"}
    assert found(*paths, "lib/retry.py") == {"net/retry.py": ("src/net/retry.py", "path")}


def test_what_too_many_share_decides_nothing() -> None:
    assert found("Anna", "Anna Schmidt", crowded={"anna"}) == {}
    assert found("retry.py", "src/retry.py", crowded={"retry.py"}) == {}
    assert found("RetryPolicy", "retry_policy", crowded={"retry policy"}) == {}


def test_every_alias_leads_to_the_name_of_the_whole_group() -> None:
    names: list[str | Named]
    names = ["CIs", named("CI", "Continuous Integration"), "continuous_integration"]
    assert found(*names, "Continuous Integration") == {
        "cis": ("continuous integration", "plural"),
        "ci": ("continuous integration", "acronym"),
        "continuous_integration": ("continuous integration", "spelling"),
    }


def test_what_is_said_goes_before_what_is_found() -> None:
    said = named("CI", "Continuous Integration", rule="manual", of="corporate identity")
    names: list[str | Named] = ["CIs", said, "Continuous Integration", "Corporate Identity"]
    assert found(*names) == {
        "cis": ("corporate identity", "plural"),
        "ci": ("corporate identity", "manual"),
    }
    gone = [one for one in names if one != "Corporate Identity"]
    assert found(*gone)["ci"] == ("continuous integration", "acronym")


def test_what_is_said_turns_a_rule_round_without_a_circle() -> None:
    said = named("Anna Schmidt", rule="manual", of="anna")
    assert found("Anna", said) == {"anna schmidt": ("anna", "manual")}


def test_what_was_parted_stays_apart_in_every_group() -> None:
    parted = named("retry_policy", apart=["retrypolicy"])
    assert found(parted, "RetryPolicy") == {}
    third = found(parted, "RetryPolicy", "Retry Policy")
    assert len(third) == 1, "the two never stand in one group"
    cis = named("CIs", apart=["continuous integration"])
    assert found(cis, named("CI", "Continuous Integration"), "Continuous Integration") == {
        "ci": ("continuous integration", "acronym")
    }


def test_the_order_does_not_matter_and_nothing_is_two_steps_deep() -> None:
    pool = [
        *("Anna", "Anna Schmidt", "anna-schmidt", "Ben", "Ben Lee", "Ben Kay", "Postgres"),
        *("PostgreSQL", "RetryPolicy", "retry_policy", "retry.py", "src/retry.py", "API", "APIs"),
    ]
    names: list[Named] = [*map(named, pool), named("CI", "Code Inspection")]
    names += [named("Code Inspection"), named("CIs"), named("Ledger", rule="manual", of="api")]
    chance = random.Random(7)
    expected = found(*names)
    assert {rule for _, rule in expected.values()} == {
        *("spelling", "known", "plural", "path", "first_name", "acronym", "manual")
    }
    for _ in range(50):
        chance.shuffle(names)
        assert found(*names) == expected
        _check(names[:10], found(*names[:10]))


def test_no_group_holds_what_was_parted() -> None:
    pool = ["RetryPolicy", "retry_policy", "retry-policy", "Retry Policy", "José Lee", "Jose Lee"]
    chance = random.Random(7)
    for _ in range(200):
        names = [named(one, apart=[normalized(chance.choice(pool))]) for one in pool]
        _check(names, found(*names))


def _check(names: Iterable[Named], aliases: dict[str, tuple[str, AliasRule]]) -> None:
    """Check that aliases are one level deep, and that no group holds two names that were parted."""
    assert not set(aliases) & {head for head, _ in aliases.values()}
    heads = {one.normalized: aliases.get(one.normalized, (one.normalized,))[0] for one in names}
    for one in names:
        for other in set(one.apart) - {one.normalized}:
            assert heads[one.normalized] != heads[other]


def test_given_names_are_names_of_people_only() -> None:
    assert not GIVEN_NAMES & NO_FAMILY_NAMES
    places = ("paris", "florence", "austin", "jordan", "april", "may", "rose", "mark", "ruby")
    assert GIVEN_NAMES.isdisjoint(places)
