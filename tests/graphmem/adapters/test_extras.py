"""An adapter whose package is missing says which extra to install."""

import subprocess
import sys

import pytest

MODULES = {
    "langgraph": ("langgraph", "langgraph"),
    "langchain": ("langchain", "langchain_core"),
    "llamaindex": ("llamaindex", "llama_index"),
    "openai_agents": ("openai-agents", "agents"),
}


@pytest.mark.parametrize("name", MODULES)
def test_an_adapter_without_its_package_names_the_extra(name: str) -> None:
    extra, package = MODULES[name]
    program = f"""
import sys
sys.modules[{package!r}] = None
try:
    import graphmem.adapters.{name}
except ImportError as problem:
    import graphmem
    assert isinstance(problem, graphmem.ExtraMissing)
    print(problem)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert f"pip install 'graphmem[{extra}]'" in ran.stdout
