"""A conversation, and what making more of it takes: episodes of its messages, facts of its episodes."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.llm import LanguageModel
from graphmem.tokens import TokenCounter


class ConversationWork(Struct, frozen=True, kw_only=True):
    """One conversation and the collaborators of the work on it."""

    client_id: str
    conversation_id: str
    now: datetime
    new_id: Callable[[], str]
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    llm: LanguageModel | None = None
