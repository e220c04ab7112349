"""Facts and episodes of one conversation, for an agent's tool."""
