"""Entities, relations and mentions in the same graph as the memories that speak of them."""
