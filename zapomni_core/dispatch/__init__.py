"""Takes a tool call from its arguments to its result."""
