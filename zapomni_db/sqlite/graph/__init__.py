"""Entities, relations and mentions in the tables of the same file as the memories that speak of them."""
