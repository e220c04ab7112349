"""What the specifications ask of the tests themselves."""

import tomllib
from pathlib import Path


def test_less_coverage_than_asked_fails_the_tests(repository: Path):  # S1.70 S3.43
    settings = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]["coverage"]

    assert settings["report"]["fail_under"] > 80
    assert set(settings["run"]["source"]) == {"graphmem", "api"}
    assert "--cov" in (repository / "Makefile").read_text()
