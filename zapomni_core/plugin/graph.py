"""The records of the graph, for tools that query it or add facts to it."""

from zapomni_db.records import (
    MENTIONED_WITH,
    Entity,
    Evidence,
    FactsStated,
    GraphCounts,
    NewFact,
    Relation,
    Surroundings,
)

__all__ = [
    "MENTIONED_WITH",
    "Entity",
    "Evidence",
    "FactsStated",
    "GraphCounts",
    "NewFact",
    "Relation",
    "Surroundings",
]
