"""Whether what stands at both ends of a relation can: a ticket lives nowhere, and a city employs nobody."""

from collections.abc import Sequence

from zapomni_core.extraction import eastern
from zapomni_core.extraction.gazetteer import brands, places
from zapomni_core.extraction.linking import Link
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.pronouns import is_person

_OF_PEOPLE = frozenset({"works_at", "worked_at", "lives_in", "lived_in", "reports_to", "married_to", "born_in"})
_NAMES = frozenset({"name", "person"})


def fits(link: Link, subjects: Sequence[Mention], objects: Sequence[Mention]) -> bool:
    """Whether these can be so related. Who joined somebody works at none of them, and who works in Berlin not for Berlin."""
    if link.type in _OF_PEOPLE and any(one.type not in _NAMES for one in subjects):
        return False
    match link.type:
        case "works_at" | "worked_at":
            return not any(is_person(one) or _is_place(one) for one in objects)
        case "lives_in" | "lived_in" | "born_in":
            return not any(not _is_place(one) and (is_person(one) or one.key in brands()) for one in objects)
    return True


def _is_place(mention: Mention) -> bool:
    return mention.key in places() or eastern.is_place(mention.name)
