"""Analyses texts: search terms, and the chunks that are embedded and found."""
