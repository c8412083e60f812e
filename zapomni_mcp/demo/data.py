"""The data of the demonstration: facts, questions and a long document."""

from random import Random

# ruff: noqa: RUF001 (Cyrillic is meant)

FACTS = (
    "We chose PostgreSQL for the billing service because of its row-level security.",
    "Anna is allergic to walnuts; she carries an adrenaline pen.",
    "The production servers are backed up every night at 03:15 to a bucket in Frankfurt.",
    "Releases go out on Tuesdays, never on a Friday.",
    "Marek prefers code reviews before lunch and does not read chat after six.",
    "The API key of the weather service expires on 30 November.",
    "Our frontend is written in Svelte; the mobile app is Flutter.",
    "Clara's birthday is on 2 February, and she collects fountain pens.",
    "The printer on the second floor only takes recycled paper.",
    "Retry failed payments three times, then write to the customer.",
    "The conference talk was accepted: forty minutes, in the large hall.",
    "Grandfather's violin is at the repair shop in Cremona until May.",
    "I drink my coffee black, without sugar.",
    "The bicycle needs a new chain and the rear brake squeaks.",
    "Invoices above ten thousand euros need two signatures.",
    "The staging environment is reset every Sunday evening.",
    "Мой брат Дима работает хирургом в больнице в Казани.",
    "Пароль от домашнего вай-фая лежит в синем конверте в ящике стола.",
    "Встреча с инвесторами перенесена на четырнадцатое марта.",
    "Оля не ест мясо уже десять лет.",
    "Ключи от дачи у соседки Веры Павловны.",
    "Der Mietvertrag für das Büro in Leipzig läuft Ende September aus.",
    "Unser Hund Bruno verträgt kein Hühnerfleisch.",
    "Frau Krüger möchte Rechnungen nur noch per Post bekommen.",
    "Das Auto muss im April zur Hauptuntersuchung.",
    "Im Keller steht noch die alte Druckpresse von Onkel Theo.",
    "El vuelo a Lima sale el martes a las seis de la mañana.",
    "Mi abuela cumple noventa años en julio.",
    "El contrato con la imprenta de Sevilla se renueva cada enero.",
    "Lucía toca el violonchelo en la orquesta de la universidad.",
)

QUESTIONS = (
    ("What time is the flight to Lima?", "a las seis"),
    ("Почему PostgreSQL?", "row-level security"),
    ("What can't our dog Bruno eat?", "kein Hühnerfleisch"),
    ("Wann hat Clara Geburtstag?", "2 February"),
    ("How to send Krüger's invoices?", "per Post"),
    ("¿Cómo tomo el café?", "black, without sugar"),
    ("¿Cuándo es la reunión con inversores?", "четырнадцатое марта"),
    ("How did rain get under the glass?", "cracked gutter bracket"),
)
"""Each with a part of the memory that answers it. The last asks for one sentence of the long document."""


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
    """A gardener's notes of one year, 30 KB of Markdown with a chapter for each week; the same at every call."""
    chance = Random(1826)  # noqa: S311 (not for secrets)
    return f"# {TITLE}\n\n" + "\n\n".join(_chapter(week, chance) for week in range(1, 53)) + "\n"


def _chapter(week: int, chance: Random) -> str:
    work = chance.sample(_WORK, 6)
    if week == LEAK_WEEK:
        work[2] = LEAK
    first = " ".join([chance.choice(_WEATHER), *work[:3]])
    second = " ".join([chance.choice(_PEOPLE), *work[3:], chance.choice(_PLANS)])
    return f"## Week {week}\n\n{first}\n\n{second}"
