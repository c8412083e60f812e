"""Hosts plugins: finds them by their metadata, loads each by itself, checks what it offers, and reports."""
