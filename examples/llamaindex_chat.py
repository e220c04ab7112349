"""A chat with LlamaIndex that goes on where the run before ended, and recalls other chats.

    python -m examples.llamaindex_chat "Our ferry is called Kestrel."
    python -m examples.llamaindex_chat "What is our ferry called?"

`MockLLM` stands for a model: it repeats what it was given. Agents take the memory too:
`await agent.run(text, memory=…)`.
"""

import sys

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM

import graphmem
from graphmem.adapters.llamaindex import GraphmemMemory


def main(text: str) -> None:
    """Say one thing in the chat, and print the answer."""
    with graphmem.open(client_id="llamaindex-chat") as memory:
        chat = GraphmemMemory(memory=memory, conversation_id="chat")
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=chat)
        print(engine.chat(text))


if __name__ == "__main__":
    main(sys.argv[1])
