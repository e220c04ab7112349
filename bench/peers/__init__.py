"""graphmem beside other memories for agents: the same messages, vectors and questions for each.

A module of this folder serves one of them, in an environment of its own (`requirements/peers`), to the
runner, which is `python -m bench.peers`. `serve.py` is the loop between them.
"""
