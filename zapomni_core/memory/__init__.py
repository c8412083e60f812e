"""The memory engine: how memories are added, found, changed and extracted from."""
