"""A long document: a gardener's notes of one year, a chapter for each week, some 30 KB of Markdown."""

from random import Random

TITLE = "Notes from the walled garden"
LEAK_WEEK = 31
LEAK = (
    "Found out at last why it dripped on the seedlings: a cracked gutter bracket above the third pane let the rain run "
    "in under the glass. Replaced it and sealed the joint."
)
_WEATHER = (
    "A cold week, with frost on four mornings and a thin sun at noon.",
    "It rained from Monday to Thursday and the paths turned to mud.",
    "Warm and windy; the soil dried faster than we could water.",
    "Fog until ten each day, then clear.",
    "A thunderstorm on Wednesday flattened the delphiniums.",
    "Still, grey and mild, good weather for moving plants.",
)
_WORK = (
    "We turned the compost and found it hot enough to steam.",
    "Pruned the old pears along the south wall and burned the cankered wood.",
    "Sowed two rows of carrots under fleece, and radishes between them.",
    "The beans went up their poles a hand's breadth a day.",
    "Lifted the early potatoes: eleven kilos from one bed, hardly any scab.",
    "Netted the currants before the blackbirds noticed them.",
    "Cut the box hedges and took forty cuttings from the trimmings.",
    "Scrubbed every pot in the shed and counted the cracked ones.",
    "Divided the irises, which had not flowered for two summers.",
    "Sharpened the shears, oiled the handles and hung up the hoes.",
    "Planted garlic in the bed that had carried the peas.",
    "The cucumbers needed shading; we whitewashed the west side.",
)
_PEOPLE = (
    "Mrs Hollis brought a tray of leeks and stayed for tea.",
    "Tom measured the pond for a new liner.",
    "The school class came and drew the beehives from a safe distance.",
    "Ingrid counted nine kinds of bumblebee on the thyme.",
    "The apprentice kept the watering book without a gap.",
    "A visitor asked for the name of the white rose; nobody knows it.",
)
_PLANS = (
    "Next: order seed potatoes and more bamboo.",
    "Next: repair the latch of the lower gate.",
    "Next: ask about the price of gravel.",
    "Next: thin the apples before they break a branch.",
    "Next: move the water butt nearer to the beds.",
)


def long_document() -> str:
    """The notes; the same at every call."""
    chance = Random(1826)  # noqa: S311 (nothing is secret here)
    return f"# {TITLE}\n\n" + "\n\n".join(_chapter(week, chance) for week in range(1, 53)) + "\n"


def _chapter(week: int, chance: Random) -> str:
    work = chance.sample(_WORK, 6)
    if week == LEAK_WEEK:
        work[2] = LEAK
    first = " ".join([chance.choice(_WEATHER), *work[:3]])
    second = " ".join([chance.choice(_PEOPLE), *work[3:], chance.choice(_PLANS)])
    return f"## Week {week}\n\n{first}\n\n{second}"
