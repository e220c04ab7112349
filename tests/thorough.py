"""How often tests repeat what chance and races decide: `make chaos` in full, `make slow` less."""

import os

import pytest

THOROUGH = os.environ.get("GRAPHMEM_THOROUGH") == "1"

only_thorough = pytest.mark.skipif(
    not THOROUGH, reason="takes minutes, and a smaller test has its claims: `make chaos` runs it"
)
