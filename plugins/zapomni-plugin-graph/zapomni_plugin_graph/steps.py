"""Steps in the graph, with how they are known."""

from typing import Literal, NamedTuple

from zapomni_core.plugin import Relation

Basis = Literal["stated", "pattern", "mention"]


class Step(NamedTuple):
    """A relation, how many steps away it is, and the best basis that any of its evidence gives."""

    distance: int
    relation: Relation
    basis: Basis


def step_of(distance: int, relation: Relation) -> Step:
    """A relation as a step."""
    found = {one.basis for one in relation.evidence}
    return Step(distance, relation, "stated" if "stated" in found else "pattern" if "pattern" in found else "mention")
