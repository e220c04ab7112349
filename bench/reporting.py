"""What the commands of the benches share: their arguments, and where a report goes."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any


def arguments(name: str, description: str | None) -> ArgumentParser:
    """Return the parser of a bench's command, which may be told where its report goes."""
    parser = ArgumentParser(prog=f"bench.{name}", description=description)
    parser.add_argument("--out", type=Path, help="where the report goes")
    return parser


def report(result: Any, out: Path | None) -> None:
    """Print a result, and write it where it is to go."""
    print(_text(result))
    write(result, out)


def write(result: Any, out: Path | None) -> None:
    """Write a result where it is to go, if anywhere."""
    if out:
        out.write_text(_text(result) + "\n", encoding="utf-8")


def _text(result: Any) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False)
