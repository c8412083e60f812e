"""How well the rules read notes as people keep them, in many languages, measured against what a careful reader marks."""

# ruff: noqa: T201 (the figures are for whoever runs it with -s)

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

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


def test_there_are_notes_in_many_languages():
    assert len(NOTES) >= 60
    assert len({note["language"] for note in NOTES}) >= 8


def test_what_notes_name_is_found():
    entities, _ = show("fitted", [note for note in NOTES if not note.get("unseen")])
    assert entities["all"].precision >= 0.83
    assert entities["all"].recall >= 0.68


def test_what_notes_state_is_found():
    _, relations = scores([note for note in NOTES if not note.get("unseen")])
    assert relations["all"].precision >= 0.66
    assert relations["all"].recall >= 0.30


def test_notes_that_the_rules_were_not_fitted_to_are_read_nearly_as_well():
    entities, relations = show("unseen", [note for note in NOTES if note.get("unseen")])
    assert entities["all"].precision >= 0.79
    assert entities["all"].recall >= 0.62
    assert relations["all"].precision >= 0.84
    assert relations["all"].recall >= 0.46
