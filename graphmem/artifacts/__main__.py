"""`python -m graphmem.artifacts embedding neo4j`: fetch the files of a first start in advance."""

import sys

from graphmem import config
from graphmem.artifacts.fetch import fetch
from graphmem.artifacts.model import bundled_model
from graphmem.config import Settings
from graphmem.errors import SetupError

LISTS = ("embedding", "neo4j")


def main(names: list[str]) -> int:
    """Fetch the named lists, or all, into the cache; return the exit code."""
    unknown = [name for name in names if name not in LISTS]
    if unknown:
        print(f"there is no {unknown[0]!r}: name {' or '.join(LISTS)}", file=sys.stderr)  # noqa: T201
        return 2
    settings = config.load()
    try:
        for name in names or LISTS:
            _fetch(name, settings)
    except SetupError as problem:
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _fetch(name: str, settings: Settings) -> None:
    repository = settings.maven_repository
    if name == "embedding":
        bundled_model(settings.cache_dir, _print_progress, repository=repository)
    else:
        fetch(name, settings.cache_dir, _print_progress, repository=repository)


def _print_progress(stage: str, done: int = 0, total: int = 0) -> None:
    if total and done == total:
        print(f"{stage}: done", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
