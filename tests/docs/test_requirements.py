"""The labels of requirements in comments of tests, and the document that says what each of them means."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "docs" / "requirements.md").read_text("utf-8")

LABEL = re.compile(r"\b(?:S[1-5]\.\d+|B\d+)\b")
ROW = re.compile(r'^\| <a id="([^"]*)"></a>(\S+) \| (.*) \|$', re.MULTILINE)
"""A row of the document: anchor, label and requirement."""

ROWS = ROW.findall(DOCUMENT)
REQUIRED = [label for _, label, _ in ROWS]


def named() -> dict[str, list[str]]:
    """Return the labels that comments of the tests name, with the places of each."""
    places: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            for label in LABEL.findall(line.partition("#")[2]):
                places.setdefault(label, []).append(f"{path.relative_to(TESTS)}:{number}")
    return places


NAMED = named()


def order(label: str) -> tuple[bool, list[int]]:
    """Return a sort key: the specifications by number, then the brief."""
    return label.startswith("B"), [int(number) for number in re.findall(r"\d+", label)]


def test_every_label_in_a_test_is_a_requirement():
    unknown = {label: NAMED[label] for label in NAMED.keys() - set(REQUIRED)}

    assert not unknown, "correct the label, or add the requirement to docs/requirements.md"


def test_every_requirement_is_named_by_a_test():
    unnamed = sorted(set(REQUIRED) - NAMED.keys(), key=order)

    assert not unnamed, "name each in a comment beside a test that fails when it breaks"


def test_every_requirement_has_one_row_in_order_with_its_anchor():
    assert len(REQUIRED) > 200
    assert sorted(set(REQUIRED), key=order) == REQUIRED
    for anchor, label, requirement in ROWS:
        assert LABEL.fullmatch(label)
        assert anchor == label.lower().replace(".", "-")
        assert requirement.endswith((".", '."')), label


def test_every_label_that_the_document_mentions_has_a_row():
    assert set(LABEL.findall(DOCUMENT)) == set(REQUIRED)
