"""How often tests repeat what chance and races decide: `make chaos` in full, `make slow` less."""

import os

THOROUGH = os.environ.get("GRAPHMEM_THOROUGH") == "1"
