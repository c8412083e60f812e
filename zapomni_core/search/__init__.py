"""Finds memories: words and vectors, as the specification of the search says."""
