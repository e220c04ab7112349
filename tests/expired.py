"""Memories that expire now, for the tests of what expires."""

from graphmem.forgetting.expiry import Expiries
from graphmem.graph.driver import Graph

EXPIRE = """CYPHER 25
MATCH (memory:Memory {client_id: $client_id}) WHERE memory.expires_at IS NOT NULL
SET memory.expires_at = datetime() - duration({seconds: 1})"""


async def expire_all(client_id: str, graph: Graph) -> None:
    """Move all expiries of a client into the past, unseen: before its first read this process looks anew."""
    await graph.execute(EXPIRE, client_id=client_id)
    graph.settle_before_reads(Expiries(graph).settle)
