"""The progress of long work."""

from typing import Protocol


class Progress(Protocol):
    """A listener to the progress of a stage of long work.

    `total` is 0 if unknown; `done == total` ends the stage. Called from any thread.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Take the progress: `done` of `total`."""
        ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Ignore the progress."""
