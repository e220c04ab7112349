"""Adapters: graphmem as the memory of LangGraph, LangChain, LlamaIndex and the OpenAI Agents SDK."""
