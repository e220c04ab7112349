"""The public API without `await`: `python -m tests.generated_blocking` writes it from the one with it.

Written out, so that an editor shows its signatures and mypy checks each call in it.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "graphmem/blocking/generated.py"

SOURCES = {
    "MemoryRetriever": ("graphmem.search.retriever", "BlockingRetriever", ["config"]),
    "RunSession": ("graphmem.runs.session", "BlockingRun", []),
    "RunEnvironment": ("graphmem.runs.environment", "BlockingRuns", ["default_budget"]),
    "Graphmem": ("graphmem.client", "BlockingGraphmem", ["client_id"]),
}
"""The module of each class, the name of its counterpart, and its attributes."""

ATTRIBUTES = {
    "config": "MemoryRetrieverConfig",
    "default_budget": "RetrievalBudget",
    "client_id": "str",
}
COUNTERPARTS = {name: other for name, (_, other, _) in SOURCES.items()} | {
    "Beginning": "BlockingBeginning",
    "AsyncIterator": "Iterator",
}

SENTENCES = {
    "MemoryRetriever": "A `MemoryRetriever` whose methods are not awaited.",
    "RunSession": "A `RunSession` whose methods are not awaited.",
    "RunEnvironment": "A `RunEnvironment` whose methods are not awaited.",
    "Graphmem": "A `Graphmem` whose methods are not awaited; `with graphmem.open() as memory:` gives one.",
}

HEAD = '''"""The classes of the public API, without `await`; `make blocking` writes this file."""

from types import TracebackType
'''

BEGINNING = '''
class BlockingBeginning(Blocking[Beginning]):
    """A run that starts at the start of a `with` block, whose end ends it, or when `begin` is called."""

    def begin(self) -> "BlockingRun":
        """Start the run without a block; end it with its method `end`."""
        return BlockingRun(self._wait(self._source.__aenter__), self._portal)

    def __enter__(self) -> "BlockingRun":
        return self.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wait(self._source.__aexit__, kind, problem, trace)
'''

LEFT_OUT = {"pages"}
"""`Blocking` has its own."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def generated() -> str:
    """Return the text of the module."""
    classes = BEGINNING + "".join(_class(name) for name in SOURCES)
    return HEAD + _imports(classes) + "\n" + classes


def _class(name: str) -> str:
    module, other, attributes = SOURCES[name]
    body = [_attribute(attribute) for attribute in attributes]
    overloaded: set[str] = set()
    for function in _functions(module, name):
        marks = _marks(function)
        if "overload" in marks:
            overloaded.add(function.name)
        body.append(_method(function, name, marks, overloaded=function.name in overloaded))
    return f'\nclass {other}(Blocking[{name}]):\n    """{SENTENCES[name]}"""\n' + "".join(body)


def _functions(module: str, name: str) -> Iterator[Function]:
    tree = _tree(module)
    found = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name)
    for one in found.body:
        if isinstance(one, Function) and not one.name.startswith("_") and one.name not in LEFT_OUT:
            yield one


def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())


def _marks(function: Function) -> set[str]:
    return {ast.unparse(mark) for mark in function.decorator_list}


def _attribute(name: str) -> str:
    head = f"\n    @property\n    def {name}(self) -> {ATTRIBUTES[name]}:\n"
    return f'{head}        """`{name}` of the source."""\n        return self._source.{name}\n'


def _method(function: Function, owner: str, marks: set[str], *, overloaded: bool) -> str:
    head = "".join(f"    @{mark}\n" for mark in sorted(marks))
    returned = ast.unparse(function.returns) if function.returns else "None"
    returns = _translated(returned)
    head += f"    def {function.name}({ast.unparse(function.args)}) -> {returns}:\n"
    if "overload" in marks:
        return f"\n{head}        ...\n"
    docstring = ast.get_docstring(function, clean=False)
    head += f'        """{docstring}"""\n'
    if "property" in marks:
        return f"\n{head}        return self._source.{function.name}\n"
    if "staticmethod" in marks:
        return f"\n{head}        return {owner}.{function.name}({_passed(function)})\n"
    source = "cast(Any, self._source)" if overloaded else "self._source"
    return f"\n{head}{_body(function, f'{source}.{function.name}', returned, overloaded)}"


def _body(function: Function, call: str, returned: str, untyped: bool) -> str:
    passed = _passed(function)
    if not isinstance(function, ast.AsyncFunctionDef):
        other = COUNTERPARTS[returned.strip("'\"")]
        return f"        return {other}({call}({passed}), self._portal)\n"
    waited = f"self._wait({', '.join(filter(None, [call, passed]))})"
    if returned.startswith("AsyncIterator"):
        return f"        return self._each({waited})\n"
    if returned == "RunSession | None":
        return (
            f"        found = {waited}\n"
            "        return None if found is None else BlockingRun(found, self._portal)\n"
        )
    if untyped:
        return f"        answer: {returned} = {waited}\n        return answer\n"
    return f"        return {waited}\n" if returned != "None" else f"        {waited}\n"


def _passed(function: Function) -> str:
    arguments = function.args
    named = [one.arg for one in arguments.args if one.arg != "self"]
    named += [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    if arguments.kwarg:
        named.append(f"**{arguments.kwarg.arg}")
    return ", ".join(named)


def _translated(annotation: str) -> str:
    tree = ast.parse(annotation, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = COUNTERPARTS.get(node.id, node.id)
        if isinstance(node, ast.Constant) and node.value in COUNTERPARTS:
            node.value = COUNTERPARTS[str(node.value)]
    return ast.unparse(tree)


def _imports(text: str) -> str:
    """Return the imports of the names that the classes use, as ruff orders them."""
    nodes = list(ast.walk(ast.parse(text)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used -= {node.arg for node in nodes if isinstance(node, ast.arg)}
    places = {
        "Blocking": "graphmem.blocking.event_loop",
        "cast": "typing",
        "Iterator": "collections.abc",
    }
    for name, (module, _, _) in reversed(SOURCES.items()):
        places |= {**_places(module), name: module}
    wanted: dict[str, list[str]] = {}
    for name in sorted(used & set(places), key=_order):
        wanted.setdefault(places[name], []).append(name)
    lines = [f"from {module} import {', '.join(wanted[module])}" for module in sorted(wanted)]
    return "\n".join(lines) + "\n"


def _places(module: str) -> dict[str, str]:
    """Return the module of each name that a module imports or assigns."""
    places: dict[str, str] = {}
    for one in _tree(module).body:
        if isinstance(one, ast.ImportFrom) and one.module:
            places |= {alias.asname or alias.name: one.module for alias in one.names}
        if isinstance(one, ast.ClassDef):
            places[one.name] = module
        targets: list[Any] = getattr(one, "targets", [])
        places |= {target.id: module for target in targets if isinstance(target, ast.Name)}
    return places


def _order(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


def main() -> None:
    """Write the module, as ruff formats it."""
    PLACE.write_text(generated())
    ruff = [sys.executable, "-m", "ruff"]
    for work in (["format"], ["check", "--fix"], ["format"]):
        subprocess.run([*ruff, *work, "--quiet", PLACE], check=True)


if __name__ == "__main__":
    main()
