"""A chat with LangChain that goes on where the run before ended, and recalls other chats.

    python -m examples.langchain_chat "Our ferry is called Kestrel."
    python -m examples.langchain_chat "What is our ferry called?"

`model` stands for a chat model: it repeats what it was given.
"""

import sys
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda

import graphmem
from graphmem.adapters.langchain import GraphmemChatMessageHistory, GraphmemRetriever


def repeat(messages: Sequence[BaseMessage]) -> AIMessage:
    """Stand for a model."""
    return AIMessage("I was given:\n" + "\n".join(str(one.text) for one in messages))


model = RunnableLambda(repeat)


def main(text: str) -> None:
    """Say one thing in the chat, and print the answer."""
    with graphmem.open(client_id="langchain-chat") as memory:
        history = GraphmemChatMessageHistory(memory, "chat")
        found = GraphmemRetriever(memory=memory, max_tokens=500).invoke(text)
        context = SystemMessage("\n".join(document.page_content for document in found))
        said = model.invoke([context, *history.messages, HumanMessage(text)])
        history.add_messages([HumanMessage(text), said])
        print(said.content)


if __name__ == "__main__":
    main(sys.argv[1])
