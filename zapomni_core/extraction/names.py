"""Names that are told by capital letters: which words of a run belong together, and how sure it is that they name something."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from zapomni_core.extraction.gazetteer import begun_by_words, given_names, known
from zapomni_core.extraction.letters import cased, lower, upper
from zapomni_core.extraction.mention import Mention
from zapomni_core.extraction.nouns import addressing, apposed, imperatives, is_common, nouns, people, shouted
from zapomni_core.extraction.openers import Shown
from zapomni_core.extraction.openers import shown as shown_by_place
from zapomni_core.extraction.russian import is_russian, nominative
from zapomni_core.extraction.scene import Scene
from zapomni_core.extraction.verbs import acting, doing
from zapomni_core.extraction.words import calendar, heads, not_names, roles, titles
from zapomni_db.names import shown

MOST_WORDS = 6
_SHOUTED = 3
_OF_PERSONS = "van der|van den|van de|von der|von den|van|von|bin|ibn"
_OF_OTHERS = "de la|de los|de las|de|da|del|della|di|dos|du|al|el|of the|of"
_ABBREVIATED = "Mrs?|Ms|Dr|Prof|St|Sra?|Jr|Hr|Fr|Mme"
_POSSESSIVE = ("'s", "’s")
_COMPOUNDS = "based|backed|born|led|owned|style|like|native|only|hosted|related|specific|powered|free|ready|compatible"
# Turkish puts an apostrophe between a name and the endings of grammar, French one between an article and a noun.
_TURKISH = "[dt][ae](?:n|ki)?|n?[ıiuü]n|y?[aeıiuü]|nd[ae]n?|y?l[ae]"
_ELIDED = "[CDJLMNST]|Qu"
_ARTICLES = frozenset({"the", "a", "an"})
_KIN = re.compile(r"(?:ович|евич|овна|евна|ична)$")
_SURNAME = re.compile(r"(?:[оеё]в|[оеё]ва|енко)$")
_VERB = re.compile(r"[а-я]{2}(?:ть|ться|ли|лись|лся|лась)$")
_STATE = re.compile(r"[A-Z]\.[A-Z]\.")  # U.S. Army


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    joint: str

    @cached_property
    def bare(self) -> str:
        """Without what makes it a possessive."""
        return self.text.removesuffix("'s").removesuffix("’s")

    @cached_property
    def folded(self) -> str:
        return self.bare.casefold().replace("ё", "е").rstrip(".")

    @cached_property
    def is_marked(self) -> bool:
        """Whether it has a capital letter that no beginning explains: NASA, GitHub."""
        letters = self.bare
        if letters[1:].islower():
            return False
        letters = letters.replace("-", "")
        return len(letters) > 1 and any(map(str.isupper, letters[1:])) and "'" not in letters and "’" not in letters

    @property
    def is_initial(self) -> bool:
        return self.text.endswith(".") and len(self.text) == 2  # noqa: PLR2004 (a letter and its stop)

    @property
    def is_shouted(self) -> bool:
        """Whether it is written in capitals only to be seen: ERROR, FYI."""
        return self.text.isupper() and self.folded in shouted()

    @property
    def is_plain(self) -> bool:
        """Whether it names nothing by itself. An abbreviation in capitals is no pronoun: US, IT, WHO."""
        return self.folded in not_names() and not self.is_marked and not self.is_initial


@cache
def run() -> re.Pattern[str]:
    """Words with capital letters, one after the other or joined by a particle."""
    w = cased() + "0-9"
    emphasised = rf"(?<=_)(?<![{w}]_)(?=[^_\n]{{1,80}}_)"  # _Jane Doe_
    return re.compile(rf"(?:(?<![{w}_])|{emphasised}){_item()}(?:{_joint()}{_item()}){{0,12}}")


def names_in(found: re.Match[str], scene: Scene) -> Iterator[Mention]:
    """The names in a run of words with capital letters."""
    for group in _groups(_words(found), scene):
        mention = _mention(group, scene)
        if mention is not None:
            yield mention


@cache
def _item() -> str:
    """An abbreviated title, an initial, or a word with the hyphens and apostrophes within it.

    Up to Python 3.11.4, a possessive group would keep what its last, failed repetition had taken: hence the atomic one.
    """
    w = cased() + "0-9"
    inner = rf"(?!['’](?:{_TURKISH})(?![{w}])|-(?:{_COMPOUNDS})(?![{w}]))['’‑-]"
    return (
        rf"(?:(?:{_ABBREVIATED})\.|(?:[{upper()}]\.){{2,4}}(?![ \u00a0]?[{upper()}])|[{upper()}]\.(?=[ \u00a0]?[{upper()}])"
        rf"|(?!(?:{_ELIDED})['’][{lower()}])[{upper()}](?:['’](?=[{upper()}]))?[{w}]*+(?>(?:{inner}[{w}]++)*))"
    )


@cache
def _bends() -> re.Pattern[str]:
    return re.compile(rf"['’](?:{_TURKISH})(?![{cased()}])")


@cache
def _joint() -> str:
    return rf"(?:[ \u00a0]|(?<=\.))(?:(?:{_OF_PERSONS}|{_OF_OTHERS}|&)[ \u00a0]|d['’](?=[{upper()}]))?"


@cache
def _piece() -> re.Pattern[str]:
    return re.compile(rf"(?P<joint>{_joint()})?(?P<item>{_item()})")


def _words(found: re.Match[str]) -> list[_Word]:
    return [
        _Word(piece["item"], found.start() + piece.start("item"), (piece["joint"] or "").strip())
        for piece in _piece().finditer(found[0])
    ]


def _groups(words: list[_Word], scene: Scene) -> Iterator[list[_Word]]:
    """The run, cut where it is more than one thing: after a possessive, and at days and months."""
    group: list[_Word] = []
    for word in words:
        if group and not _continues(group, word, scene):
            yield group
            group = []
        group.append(word)
    yield group


def _continues(group: list[_Word], word: _Word, scene: Scene) -> bool:
    last = group[-1]
    if last.text.endswith(_POSSESSIVE) or {last.folded, word.folded} & calendar() or "I" in {last.text, word.text}:
        return False
    if word.text.endswith(".") and word.folded in titles():
        return False  # Landlord Mr. Okafor
    if word.is_shouted or last.is_shouted:
        return False
    if last.folded in given_names() and _bends().match(scene.text, word.start + len(word.text)):
        return False  # Ayşe İstanbul'da
    if word.joint.startswith("of"):
        return last.folded in heads()
    if word.joint in {"von", "de"} and scene.german:
        return len(group) > 1  # a name, not what somebody is of something
    return True


def _mention(words: list[_Word], scene: Scene) -> Mention | None:
    words, opens, titled, is_person = _without_leading(words, scene)
    if not _is_name(words, scene) or (not titled and _is_word(words, opens=opens)):
        return None
    start, last = words[0].start, words[-1]
    possessive = last.text.endswith(_POSSESSIVE)
    end = last.start + len(last.text) - 2 * possessive
    seen = "surely" if titled or possessive else _seen(words, scene, end, opens=opens)
    if seen != "surely" and scene.has_article_before(start):
        return None
    name = shown(scene.text[start:end])
    if is_russian(name):
        name = nominative(name)
    kind = "person" if is_person or _is_person(name, words) else "name"
    return Mention(start, end, name, kind, seen == "surely", seen == "perhaps")


def _without_leading(words: list[_Word], scene: Scene) -> tuple[list[_Word], bool, bool, bool]:
    """The words from the first one that can be part of a name, and whether something begins there.

    And whether a title went before, or a German noun as one does; and whether that is one of persons.
    """
    opens, titled, is_person = scene.opens_at(words[0].start), False, False
    while words and _leads(words[0], words[1:], opens=opens, german=scene.german):
        word = words[0].folded
        titled = word in titles() or (scene.german and word in apposed())
        is_person = titled and (word in titles() or word in people())
        words, opens = words[1:], False
    return words, opens, titled, is_person


def _leads(word: _Word, following: list[_Word], *, opens: bool, german: bool) -> bool:
    alone = not following
    if not alone and f"{word.folded}-{following[0].folded}" in begun_by_words():
        return False
    if word.folded in roles() or (word.folded in titles() and not alone):
        return True
    if not alone and (((opens or german) and word.folded in apposed()) or (opens and _is_verb(word))):
        return True
    if word.is_shouted or (opens and not alone and _addresses(word, following[0])):
        return True
    return word.is_plain and (alone or opens or word.folded in _ARTICLES)


def _addresses(word: _Word, other: _Word) -> bool:
    return word.folded in addressing() and other.folded in given_names()


def _is_verb(word: _Word) -> bool:
    if word.folded in imperatives() and not word.is_marked:
        return True
    return word.folded in acting() or (_VERB.search(word.folded) is not None and word.folded not in given_names())


def _is_name(words: list[_Word], scene: Scene) -> bool:
    if not words or len(words) > MOST_WORDS or scene.shouted:
        return False
    if len(words) == 1:
        return len(words[0].bare.rstrip(".")) > 1
    return len(words) < _SHOUTED or not all(word.text.isupper() for word in words)


def _is_word(words: list[_Word], *, opens: bool) -> bool:
    """Whether it is one word that names nothing: a noun like any other, or a verb that opens something."""
    word = words[0]
    return len(words) == 1 and not word.is_marked and (word.folded in nouns() or (opens and word.folded in doing()))


def _seen(words: list[_Word], scene: Scene, end: int, *, opens: bool) -> Shown:
    """How sure it is that words with capital letters are a name."""
    word = words[0].folded
    if any(one.is_marked for one in words) or (len(words) == 1 and word in known()):
        return "surely"
    if scene.heading or len(words) > 1:
        return "not" if scene.heading else "surely"
    if scene.german and not opens:
        return "surely" if scene.has_name_at(words[0].start) and not is_common(word) else "not"
    return shown_by_place(word, scene.text, words[0].start, end) if opens else "surely"


def _is_person(name: str, words: list[_Word]) -> bool:
    """By a particle, initials, or the endings of Russian patronymics and surnames."""
    if any(word.joint in _OF_PERSONS.split("|") and word.joint for word in words[1:]):
        return True
    if any(word.is_initial for word in words[:-1]):
        return not _STATE.match(name)
    if name.partition(" ")[0].casefold().replace("ё", "е") in given_names() and len(words) < _SHOUTED:
        return True
    return len(words) > 1 and (
        any(_KIN.search(word.text) for word in words) or _SURNAME.search(words[-1].text) is not None
    )
