"""The API without `await` is the one with it."""

import ast

from tests import generated_blocking


def parts(text: str) -> tuple[set[str], list[str]]:
    """Return the imported names, each with its module, and the other statements, without their format."""
    imported, others = set(), []
    for one in ast.parse(text).body:
        if isinstance(one, ast.ImportFrom):
            imported |= {f"{one.module}.{alias.name}" for alias in one.names}
        else:
            others.append(ast.dump(one))
    return imported, others


def test_the_module_is_what_make_blocking_writes() -> None:
    written = generated_blocking.PLACE.read_text(encoding="utf-8")
    assert parts(written) == parts(generated_blocking.generated()), "run `make blocking`"
