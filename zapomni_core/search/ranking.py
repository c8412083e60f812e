"""Joins what words and vectors say of each chunk, and ranks memories by it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zapomni_core.embedding import Profile
from zapomni_core.search.lexical import Lexical, Scores
from zapomni_core.terms import words
from zapomni_db.arrays import Mask, Rows, Vector
from zapomni_db.store import Snapshot

AUTHOR_BONUS = 0.2
LEAST_CANDIDATES = 100
CANDIDATES_PER_HIT = 4
IDEAL_SHARE = 0.7
FULL_COVER = 0.7
SURE_SHARE = 0.75
COSINE_DIGITS = 6
"""Beyond these, equal vectors differ by where they stand in a matrix, and equal texts would not be ordered by their age."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Memories in the order of their best chunks. Parallel arrays, best first."""

    rows: Rows
    lexical: Scores
    cosines: Scores | None
    words_part: Scores
    meaning_part: Scores
    by_author: NDArray[np.bool_]

    @property
    def scores(self) -> Scores:
        """What they are ranked by."""
        return self.told_by_words + self.meaning_part

    @property
    def told_by_words(self) -> Scores:
        """What words tell of them, with the name of the author."""
        return self.words_part + AUTHOR_BONUS * self.by_author

    def __getitem__(self, chosen: Rows | slice) -> "Ranked":
        cosines = None if self.cosines is None else self.cosines[chosen]
        return Ranked(
            self.rows[chosen],
            self.lexical[chosen],
            cosines,
            self.words_part[chosen],
            self.meaning_part[chosen],
            self.by_author[chosen],
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a snapshot: the words' scores, a vector where there is one, and how many memories are wanted."""

    text: str
    lexical: Lexical
    vector: Vector | None
    mask: Mask | None
    limit: int
    profile: Profile


def rank(snapshot: Snapshot, question: Question) -> Ranked:
    """The best memories, each by its best chunk: by score, then newest, then id."""
    rows, cosines = _candidates(snapshot, question)
    ranked = _fused(snapshot, question, rows, cosines)
    ranked = ranked[_best_of_each_memory(snapshot, ranked)]
    return ranked[_order(snapshot, ranked)][: question.limit]


def _candidates(snapshot: Snapshot, question: Question) -> tuple[Rows, Scores | None]:
    """The best of each leg, with the cosine of all of them where there is a vector."""
    wanted = max(LEAST_CANDIDATES, CANDIDATES_PER_HIT * question.limit)
    by_words = _holding_words(question)
    by_words = by_words[_best(snapshot, by_words, question.lexical.scores[by_words], wanted)]
    if question.vector is None:
        return by_words, None
    near = snapshot.nearest(question.vector, question.profile.rescore(snapshot.chunks), question.mask)
    rows = _either(snapshot.chunks, near, by_words)
    cosines = exact_cosines(snapshot, rows, question.vector)
    at_near, at_words = np.searchsorted(rows, near), np.searchsorted(rows, by_words)
    chosen = _either(len(rows), at_words, at_near[_best(snapshot, near, cosines[at_near], wanted)])
    return rows[chosen], cosines[chosen]


def _either(count: int, some: Rows, others: Rows) -> Rows:
    """Both without repeats, growing, all below `count`. The first `np.union1d` of a process takes 30 ms."""
    held = np.zeros(count, dtype=bool)
    held[some] = held[others] = True
    return np.flatnonzero(held)


def _holding_words(question: Question) -> Rows:
    scores = question.lexical.scores
    return np.flatnonzero(scores if question.mask is None else scores * question.mask)


def exact_cosines(snapshot: Snapshot, rows: Rows, vector: Vector) -> Scores:
    """The cosines of some rows, the same for equal vectors."""
    return np.asarray(np.round(snapshot.cosines(rows, vector), COSINE_DIGITS), np.float64)


def _best(snapshot: Snapshot, rows: Rows, values: Scores, count: int) -> Rows:
    """Which of these rows have the highest values; of equal ones at the end, the newest."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, -count)[-count]
    above, level = np.flatnonzero(values > least), np.flatnonzero(values == least)
    newest = np.argsort(-snapshot.moments[snapshot.places[rows[level]]], kind="stable")
    return np.concatenate([above, level[newest][: count - len(above)]])


def _fused(snapshot: Snapshot, question: Question, rows: Rows, cosines: Scores | None) -> Ranked:
    lexical = question.lexical.scores[rows]
    top = max(lexical.max(initial=0), IDEAL_SHARE * question.lexical.ideal)
    alpha = 1.0 if cosines is None else _alpha(question.profile, question.lexical.cover(lexical), cosines)
    return Ranked(
        rows,
        lexical,
        cosines,
        words_part=alpha * (lexical / top if top else lexical),
        meaning_part=(1 - alpha) * _nearness(cosines, question.profile) if cosines is not None else np.zeros(len(rows)),
        by_author=_named_authors(snapshot, question.text, snapshot.places[rows]),
    )


def _alpha(profile: Profile, cover: float, cosines: Scores) -> float:
    """The weight of the words: the more of the query they cover, the more they count; the less, the surer the vectors are.

    A memory in another language has none of the question's words, and other memories have some of them by chance.
    """
    by_cover = profile.alpha_low + (profile.alpha_high - profile.alpha_low) * min(1.0, cover / FULL_COVER)
    return by_cover * doubt(cosines, profile)


def doubt(cosines: Scores, profile: Profile) -> float:
    """What sure vectors leave of the weight of words: all of it where the best is doubtful."""
    doubtful, sure = profile.cosine_doubtful, profile.cosine_sure
    return 1 - SURE_SHARE * min(1.0, max(0.0, (_nearest(cosines) - doubtful) / (sure - doubtful)))


def _nearest(cosines: Scores) -> float:
    return float(np.nanmax(cosines, initial=-1.0))


def _nearness(cosines: Scores, profile: Profile) -> Scores:
    """From 0 to 1, which is the nearest candidate's; it falls fast, so that chance words do not outdo a clear meaning.

    Whoever has no vector yet is infinitely far.
    """
    return np.asarray(np.nan_to_num(np.exp((cosines - _nearest(cosines)) / profile.cosine_scale)))


def _named_authors(snapshot: Snapshot, text: str, places: Rows) -> NDArray[np.bool_]:
    """Whose author has a whole word in common with the question."""
    asked, authors = set(words(text)), snapshot.authors(places)
    named = {author for author in set(authors) if not asked.isdisjoint(words(author))}
    return np.array([author in named for author in authors], dtype=bool)


def _best_of_each_memory(snapshot: Snapshot, ranked: Ranked) -> Rows:
    places = snapshot.places[ranked.rows]
    order = np.lexsort((ranked.rows, -ranked.scores, places))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.diff(places[order]) != 0
    return order[first]


def _order(snapshot: Snapshot, ranked: Ranked) -> Rows:
    """By score, then newest, then id; ids are read only where they decide."""
    places = snapshot.places[ranked.rows]
    moments, scores = snapshot.moments[places], ranked.scores
    order = np.lexsort((-moments, -scores))
    if not ((np.diff(scores[order]) == 0) & (np.diff(moments[order]) == 0)).any():
        return order
    identifiers = np.array(snapshot.identifiers(places), dtype=np.str_)
    return np.lexsort((identifiers, -moments, -scores))
