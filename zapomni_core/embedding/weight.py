# ruff: noqa: RUF001 (Russian)
"""The weight of the vectors of an embedder that was not tuned: measured once, with a few questions and answers.

A score is the words plus `g` times the cosine, so `g` depends on how a model spreads its cosines. What misleads a model in
conversations is the echo of a question, so `g = .5 / D`, where D is how much closer a question is to itself asked in other
words than to answers of other questions. docs/decisions/0005-search.md compares it with the best weight of several models.
"""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from zapomni_core.embedding.embedder import Embedder, know_dimension
from zapomni_db.records import VectorWeight

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.store import MemoryStore

SPREAD = 0.5
LEAST_ANSWERED = 5
"""Of the eight English questions, as many must be closest to their own answer; else the vectors are noise."""
LEAST_CYRILLIC = 0.5
"""The least share of the English signal that a model must have in Russian to be used for questions in Cyrillic."""

ENGLISH = (
    (
        "When does the dentist open on Saturdays?",
        "Hey, do you know when the dentist opens on Saturdays?",
        "The practice on Mill Street sees patients from nine to one at the weekend.",
    ),
    (
        "What did Laura plant behind the house?",
        "Laura, that sounds fun! What are you going to plant?",
        "Laura put three tomatoes and some basil in the garden.",
    ),
    (
        "How much was the repair of the car?",
        "Oh no, your car again? How much will it cost?",
        "The garage charged 480 euros for new brakes.",
    ),
    (
        "Which database do we use for the orders?",
        "Which database would you choose for this?",
        "We decided to keep all orders in PostgreSQL.",
    ),
    (
        "Why was the train late?",
        "The train was late again, why is that?",
        "A fallen tree blocked the tracks near the station this morning.",
    ),
    (
        "Who is allergic to nuts?",
        "Is anyone allergic to something? I could bring nuts.",
        "Please remember that Tom gets a rash from peanuts and almonds.",
    ),
    (
        "Where did they spend their honeymoon?",
        "Congratulations! Where are you going for your honeymoon?",
        "After the wedding they flew to a small Greek island.",
    ),
    (
        "What instrument does his daughter play?",
        "How is your daughter? Does she play an instrument?",
        "His daughter has been taking cello lessons since she was seven.",
    ),
)
"""A question, the same asked back in a conversation, and its answer."""

RUSSIAN = (
    ("Когда у мамы день рождения?", "Мама родилась двадцатого марта."),
    ("Где лежат ключи от дачи?", "Запасные ключи висят в коридоре за зеркалом."),
    ("Почему не работает принтер?", "Кончилась краска, новый картридж привезут в среду."),
    ("Какую собаку они взяли?", "Соседи забрали из приюта рыжего щенка."),
    ("Что врач сказал про колено?", "После снимка доктор велел месяц не бегать."),
    ("Кто готовит отчёт для начальника?", "Данные о продажах к пятнице соберёт Ирина из бухгалтерии."),
)

_known: "WeakKeyDictionary[Embedder, VectorWeight]" = WeakKeyDictionary()


async def weight_of(store: "MemoryStore", workspace: str, embedder: Embedder) -> VectorWeight:
    """Return the weight in the profile, else the recorded one, else the measured one, which is recorded now."""
    if (given := embedder.profile.vector_weight) is not None:
        return VectorWeight(given)
    if embedder not in _known:
        await know_dimension(embedder)
        recorded = await store.vectors.weight(workspace, embedder.identity) if store.vectors else None
        _known[embedder] = recorded or await _measured_and_recorded(store, workspace, embedder)
    return _known[embedder]


async def _measured_and_recorded(store: "MemoryStore", workspace: str, embedder: Embedder) -> VectorWeight:
    weight = await measure(embedder)
    if store.vectors:
        await store.vectors.record_weight(workspace, embedder.identity, weight)
    return weight


async def measure(embedder: Embedder) -> VectorWeight:
    """Measure the weight of an embedder: one batch of questions, and one of texts."""
    import numpy as np

    asked, asked_back, answers = zip(*ENGLISH, strict=True)
    russian, russian_answers = zip(*RUSSIAN, strict=True)
    questions = await embedder.embed([*asked, *russian], query=True)
    texts = await embedder.embed([*asked_back, *answers, *russian_answers])
    count = len(ENGLISH)
    to_answers = questions[:count] @ texts[count : 2 * count].T
    echo = float(np.einsum("ij,ij->i", questions[:count], texts[:count]).mean())
    spread = echo - _mean_of_others(to_answers)
    answered = int((to_answers.argmax(axis=1) == np.arange(count)).sum())
    if answered < LEAST_ANSWERED or spread <= 0:
        return VectorWeight(0.0, cyrillic=False)
    in_russian = _signal(questions[count:] @ texts[2 * count :].T)
    return VectorWeight(SPREAD / spread, cyrillic=in_russian >= LEAST_CYRILLIC * _signal(to_answers))


def _signal(cosines: "Vector") -> float:
    """Return how much closer questions are to their own answers than to those of others."""
    return float(cosines.diagonal().mean()) - _mean_of_others(cosines)


def _mean_of_others(cosines: "Vector") -> float:
    count = len(cosines)
    return float(cosines.sum() - cosines.trace()) / (count * (count - 1))


def is_cyrillic(text: str) -> bool:
    """Whether most letters of a text are Cyrillic."""
    letters = [character for character in text if character.isalpha()]
    return 2 * sum("\u0400" <= letter <= "\u052f" for letter in letters) > len(letters)
