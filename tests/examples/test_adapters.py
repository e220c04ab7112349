"""The programs of the agent frameworks remember in a second run what they were told in the first."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from graphmem.config import Settings
from tests.environments import environment_of

SECONDS = 300
"""Long: it is cut off only when it hangs, also where the machine is busy."""


@pytest.mark.usefixtures("whole_program")
@pytest.mark.parametrize(
    "name", ["langgraph_agent", "langchain_chat", "llamaindex_chat", "openai_agents_session"]
)
def test_a_second_run_remembers_the_first(
    name: str, neo4j_settings: Settings, repository: Path
) -> None:
    ferry = f"Kestrel-{uuid.uuid4().hex}"

    def run(text: str) -> str:
        result = subprocess.run(
            [sys.executable, "-m", f"examples.{name}", text],
            cwd=repository,
            env=environment_of(neo4j_settings),
            text=True,
            encoding="utf-8",
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    run(f"Our ferry is called {ferry}.")
    assert ferry in run("What is our ferry called?")
