"""Whether a word with a capital letter that opens something is a name: what stands before it and what follows it tell."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from functools import cache
from typing import Literal

from zapomni_core.extraction.letters import cased, upper
from zapomni_core.extraction.nouns import is_common
from zapomni_core.extraction.verbs import acting, doing

Shown = Literal["surely", "perhaps", "not"]

_AND = "and|und|et|y|e|и"
_LABELS = """
    attendees|attending|participants?|present|team|members?|people|owners?|authors?|assignees?|assigned to|reviewers?|contacts?
    |managers?|speakers?|guests?|invited|with|from|to|cc|by|lead|hosts?
    |участники|присутствовали|автор|авторы|ответственный|исполнитель|контакт|команда|были|кому|от
    |teilnehmer|teilnehmerinnen|teilnehmende|anwesend|autor|verantwortlich|kontakt|ansprechpartner(?:in)?|mitglieder
    |asistentes|participantes|autores|responsables?|contacto|invitados|équipe|présents?|auteurs?|invités|membres?
"""
_LOOK_BACK = 200
_LOOK_AHEAD = 60


def shown(word: str, text: str, start: int, end: int) -> Shown:
    """Whether a case-folded word that opens something at a place in a text is a name."""
    if is_labelled(text, start):
        return "surely"
    if is_common(word):
        return "not"
    if _listed().match(text, end, end + _LOOK_AHEAD):
        return "surely"
    found = _next().match(text, end, end + _LOOK_AHEAD)
    verb = found[1].casefold().replace("ё", "е").replace("’", "'") if found else ""
    if found and _russian().match(text, found.start(1)):
        return "perhaps"
    return "surely" if verb in acting() or _transitive().match(text, end) else "perhaps" if verb in doing() else "not"


def is_labelled(text: str, start: int) -> bool:
    """Whether it stands in a list of people: `Attendees: Anna, Bob`."""
    before = text[max(0, start - _LOOK_BACK) : start]
    return ":" in before and _labelled().search(before) is not None


@cache
def _labelled() -> re.Pattern[str]:
    labels = "".join(_LABELS.split()).replace("assignedto", "assigned[ ]to")
    item = r"[^\s,:;]{1,40}+(?:[ ][^\s,:;]{1,40}+)?"
    return re.compile(
        rf"(?:^|\n|[.!?]\s)\W{{0,4}}(?:{labels})\s?:[ ](?:{item}(?:,\s|\s(?:{_AND})\s)){{0,12}}$", re.IGNORECASE
    )


@cache
def _listed() -> re.Pattern[str]:
    """`Anna and Bob`, `Anna, Bob and Carol`: the rest of a list that begins here."""
    item = rf"[{upper()}][{cased()}-]*+"
    return re.compile(rf"(?:,\s{item})*+,?\s(?:{_AND})\s{item}")


@cache
def _next() -> re.Pattern[str]:
    """The small word that follows, past what is put in: `Anna also likes`."""
    return re.compile(
        rf"\s(?:(?:also|still|just|now|really|auch|тоже|также|сейчас|теперь|también|aussi)\s)?([{cased()}][{cased()}'’]*)"
    )


@cache
def _transitive() -> re.Pattern[str]:
    """An English verb and its object: `runs the bakery`. A noun is not followed by an article."""
    return re.compile(r"\s[a-z]{2,}(?:s|ed)\s(?:the|an?|our|my|his|her|their|every|us|me|him|them)\b")


@cache
def _russian() -> re.Pattern[str]:
    """A verb and its subject: what goes before them is not the subject."""
    return re.compile("[а-яё]+ [А-ЯЁA-Z]")
