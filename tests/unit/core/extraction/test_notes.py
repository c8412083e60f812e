"""How well the rules read notes as people keep them, in many languages, measured against what a careful reader marks."""

# ruff: noqa: T201 (the figures are for whoever runs it with -s)

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from zapomni_core.extraction.reading import read
from zapomni_db.names import key_of

NOTES = tomllib.loads((Path(__file__).parent / "notes.toml").read_text(encoding="utf-8"))["note"]
MOMENT = datetime(2024, 6, 1, tzinfo=UTC)
NOW_ONLY = {"works_at", "lives_in", "reports_to"}


@dataclass
class Score:
    """How much of what was found is marked (precision), and how much of what is marked was found (recall)."""

    right: int = 0
    found: int = 0
    marked: int = 0

    def count(self, found, marked):
        self.right += len(found & marked)
        self.found += len(found)
        self.marked += len(marked)

    @property
    def precision(self):
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self):
        return self.right / self.marked if self.marked else 1.0

    def __str__(self):
        return f"{self.precision:.2f} {self.recall:.2f} of {self.marked}"


def reading(note):
    return read(note["text"], moment=MOMENT)


def entities_of(extraction):
    return {key_of(entity.name) for entity in extraction.entities}


def relations_of(extraction):
    """What is stated, and of what is so only now, whether it has ended."""
    return {
        key_of(
            f"{one.subject} | {one.type} | {one.object}{' | ended' * bool(one.valid_until and one.type in NOW_ONLY)}"
        )
        for one in extraction.relations
        if one.basis == "pattern"
    }


def scores(notes):
    """The scores of entities and of relations in each language, and in all."""
    entities, relations = defaultdict(Score), defaultdict(Score)
    for note in notes:
        extraction = reading(note)
        maybe = {key_of(name) for name in note.get("maybe", ())}
        for language in (note["language"], "all"):
            entities[language].count(entities_of(extraction) - maybe, set(map(key_of, note["entities"])))
            relations[language].count(relations_of(extraction), set(map(key_of, note["relations"])))
    return entities, relations


def show(title, notes):
    entities, relations = scores(notes)
    print(f"\n{title}: precision and recall of entities, and of stated relations")
    for language in entities:
        print(f"{language:>4}  {entities[language]!s:<16}  {relations[language]}")
    return entities, relations


def _parts(found):
    return [part for score in found for part in (score.precision, score.recall)]


def test_there_are_notes_in_many_languages():
    show("all", NOTES)
    assert len(NOTES) >= 60
    assert len({note["language"] for note in NOTES}) >= 8


FLOORS = {
    "en": (0.97, 0.96, 0.95, 0.95),
    "ru": (0.96, 0.96, 0.92, 0.92),
    "de": (0.97, 0.90, 0.95, 0.95),
    "fr": (0.97, 0.97, 0.95, 0.95),
    "es": (0.97, 0.97, 0.95, 0.95),
    "zh": (0.95, 0.95, 0.95, 0.50),
    "ja": (0.95, 0.95, 0.95, 0.95),
    "all": (0.97, 0.96, 0.96, 0.92),
}
"""Precision and recall of entities, then of relations. The rules were fitted to most notes: of others, expect less."""


@pytest.mark.parametrize("language", FLOORS)
def test_what_notes_name_and_state_is_found(language):
    found = [score[language] for score in scores(NOTES)]
    assert all(part >= floor for part, floor in zip(_parts(found), FLOORS[language], strict=True)), found


def test_the_notes_that_the_rules_were_not_fitted_to_are_read_as_well():
    entities, relations = show("unseen", [note for note in NOTES if note.get("unseen")])
    assert min(_parts([entities["all"], relations["all"]])) >= 0.95
