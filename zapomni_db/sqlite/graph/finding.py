"""Finds entities by the words of their name and by vector."""

from collections.abc import Iterable

import apsw

from zapomni_db.arrays import Vector
from zapomni_db.names import key_of, words_of
from zapomni_db.records import EmbedderIdentity, Entity
from zapomni_db.sqlite.connections import rows
from zapomni_db.sqlite.graph import vectors
from zapomni_db.sqlite.graph.entities import COLUMNS, entity
from zapomni_db.sqlite.graph.numbers import bound
from zapomni_db.sqlite.values import check_text

_LONGEST_TEXT = 10_000
_MOST_WORDS = 64
_MOST_OF_A_WORD = 1000
_MOST_TOGETHER = 5000
_LEAST_BY_VECTOR = 200
_SHORTEST_BEGINNING = 2  # characters by which a word is found that begins with them
_WEIGHT_OF_QUESTION = 0.4  # how much it counts that the name has many of the words that were asked for
_WEIGHT_OF_VECTOR = 0.5  # what a vector alone can reach: cosines of unrelated names are seldom near 0

# Hidden entities are left out before the bound: however many there are, they take no place.
_LIVE = (
    "SELECT e.id FROM entity_word w CROSS JOIN entity e ON e.id = w.entity AND e.memories > 0 WHERE w.workspace = ? "
)
_EXACT = _LIVE + "AND w.word = ? LIMIT ?"
_BEGINNING = _LIVE + "AND w.word > ? AND w.word < ? LIMIT ?"
_FOUND = f"""
SELECT entity.id, key, {COLUMNS.format("entity")}
FROM carray(?) wanted CROSS JOIN entity ON entity.id = wanted.value
"""  # noqa: S608 - ours


def find(
    connection: apsw.Connection,
    workspace: str,
    text: str,
    meaning: tuple[EmbedderIdentity, Vector] | None,
    limit: int,
) -> list[tuple[Entity, float]]:
    """The best entities with a score from 0 to 1, best first."""
    check_text("workspace", workspace)
    asked = words_of(key_of(check_text("text", text[:_LONGEST_TEXT])))[:_MOST_WORDS]
    candidates = _by_words(connection, workspace, asked)
    near: dict[int, float] = {}
    if meaning is not None:
        candidates |= set(vectors.nearest(connection, workspace, *meaning, max(_LEAST_BY_VECTOR, 4 * limit)))
        near = vectors.cosines(connection, workspace, *meaning, sorted(candidates))
    scored = [
        (entity(*columns), _joined(_score(words_of(key), asked), near.get(number, 0.0)))
        for number, key, *columns in rows(connection, _FOUND, bound(sorted(candidates)))
    ]
    found = [(one, score) for one, score in scored if score > 0]
    return sorted(found, key=lambda pair: (-pair[1], -pair[0].memories, pair[0].name))[:limit]


def _by_words(connection: apsw.Connection, workspace: str, words: Iterable[str]) -> set[int]:
    """Numbers of entities with one of these words; those with rare words first, for there is a bound."""
    by_word = []
    for word in words:
        found = [number for (number,) in rows(connection, _EXACT, workspace, word, _MOST_OF_A_WORD)]
        if len(word) >= _SHORTEST_BEGINNING:
            last = word + "\U0010ffff"
            beginning = rows(connection, _BEGINNING, workspace, word, last, _MOST_OF_A_WORD - len(found))
            found += [number for (number,) in beginning]
        by_word.append(found)
    together: set[int] = set()
    for found in sorted(by_word, key=len):
        if len(together) < _MOST_TOGETHER:
            together.update(found)
    return together


def _score(words: list[str], asked: list[str]) -> float:
    """How much of a name was asked for, and how much of what was asked for is in the name."""
    if not (words and asked):
        return 0.0
    matches = [[_match(word, wanted) for wanted in asked] for word in words]
    named: float = sum(map(max, matches)) / len(words)
    answered: float = sum(map(max, zip(*matches, strict=True))) / len(asked)
    return named * (1 - _WEIGHT_OF_QUESTION * (1 - answered))


def _match(word: str, wanted: str) -> float:
    if word == wanted:
        return 1.0
    if len(wanted) >= _SHORTEST_BEGINNING and word.startswith(wanted):
        return len(wanted) / len(word)
    return 0.0


def _joined(words: float, cosine: float) -> float:
    return min(1.0, words + (1 - words) * _WEIGHT_OF_VECTOR * max(0.0, cosine))
