"""How long work says how far it is."""

from typing import Protocol


class Progress(Protocol):
    """Hears how far a stage of long work is.

    `total` is 0 where it is not known; `done == total` ends the stage. Called from any thread.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Hear that `done` of `total` are done."""
        ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Hear nothing."""
