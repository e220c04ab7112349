"""An adapter whose package is missing says which extra to install."""

import importlib
import sys

import pytest

import graphmem

MODULES = {
    "langgraph": ("langgraph", "langgraph"),
    "langchain": ("langchain", "langchain_core"),
    "llamaindex": ("llamaindex", "llama_index"),
    "openai_agents": ("openai-agents", "agents"),
}


@pytest.mark.parametrize("name", MODULES)
def test_an_adapter_without_its_package_names_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra, package = MODULES[name]
    hidden = (package, f"graphmem.adapters.{name}")
    for loaded in list(sys.modules):
        if loaded in hidden or loaded.startswith(f"{package}."):
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(graphmem.ExtraMissing) as told:
        importlib.import_module(f"graphmem.adapters.{name}")
    assert isinstance(told.value, ImportError)
    assert f"pip install 'graphmem[{extra}]'" in str(told.value)
