"""The memory for agents' programs that speak the Model Context Protocol: tools, resources, prompts."""
