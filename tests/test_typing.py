"""The types that a caller's editor and mypy see."""

import subprocess
import sys
from pathlib import Path

import pytest

CALLER = Path(__file__).parent / "typed_caller.py"

WRONG = {
    "an argument that does not exist": (
        "max_tokens=400, kinds",
        "token_limit=400, kinds",
        'Unexpected keyword argument "token_limit" for "recall"',
    ),
    "an argument of the wrong type": (
        "max_results=5",
        'max_results="five"',
        'Argument "max_results" to "search" of "Graphmem" has incompatible type "str"',
    ),
    "a word that is not legal": (
        'truncation_strategy="sentence"',
        'truncation_strategy="words"',
        'Argument "truncation_strategy" to "chunk" of "Graphmem" has incompatible type',
    ),
    "an attribute that an answer lacks": (
        "answer.tokens_used",
        "answer.tokens_spent",
        '"Recalled" has no attribute "tokens_spent"',
    ),
    "a setting that does not exist": (
        'log_level="warning"',
        'loglevel="warning"',
        'Unexpected keyword argument "loglevel" for "open"',
    ),
    "an error that does not exist": (
        "graphmem.InvalidInput",
        "graphmem.InvalidArgument",
        'Module has no attribute "InvalidArgument"',
    ),
}


def mypy(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Check a caller's script with mypy's strict mode, in a folder without configuration."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), str(path)]
    return subprocess.run(
        command, cwd=path.parent, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the checks share."""
    return tmp_path_factory.mktemp("mypy")


def test_mypy_passes_a_caller_that_is_right(
    tmp_path: Path, cache: Path, whole_program: None
) -> None:
    script = tmp_path / "caller.py"
    script.write_text(CALLER.read_text(encoding="utf-8"), encoding="utf-8")

    checked = mypy(script, cache)

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("mistake", WRONG)
def test_mypy_finds_a_caller_s_mistake(
    mistake: str, tmp_path: Path, cache: Path, whole_program: None
) -> None:
    right, wrong, complaint = WRONG[mistake]
    text = CALLER.read_text(encoding="utf-8")
    assert right in text
    script = tmp_path / "caller.py"
    script.write_text(text.replace(right, wrong), encoding="utf-8")

    checked = mypy(script, cache)

    assert checked.returncode == 1
    assert complaint in checked.stdout, checked.stdout
