"""A LangGraph agent that remembers the runs before.

    python -m examples.langgraph_agent "Our ferry is called Kestrel."
    python -m examples.langgraph_agent "What is our ferry called?"

The node `answer` stands for a model: it shows what a model would be given.
"""

import sys
import uuid
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import graphmem
from graphmem.adapters.langgraph import recall_node, remember_node


class State(MessagesState):
    """The messages of a run, and what is recalled for it."""

    recalled: str


def answer(state: State) -> dict[str, Any]:
    """Stand for a model."""
    return {"messages": [("ai", f"I remember:\n{state['recalled']}")]}


def main(text: str) -> None:
    """Run the agent once, in a thread of its own."""
    with graphmem.open(client_id="langgraph-agent") as memory:
        graph = StateGraph(State).add_node("recall", recall_node(memory)).add_node("answer", answer)
        graph.add_node("remember", remember_node(memory)).add_edge(START, "recall")
        graph.add_edge("recall", "answer").add_edge("answer", "remember")
        asked = State(messages=[HumanMessage(text)], recalled="")
        said = graph.compile().invoke(asked, {"configurable": {"thread_id": str(uuid.uuid4())}})
        print(said["messages"][-1].content)


if __name__ == "__main__":
    main(sys.argv[1])
