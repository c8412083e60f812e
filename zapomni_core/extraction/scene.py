"""What a sentence tells of all its words: where it begins, and whether capital letters mean less in it."""

# ruff: noqa: RUF001 (the quotation marks of other scripts look like ours)

import re
from dataclasses import dataclass
from functools import cached_property
from unicodedata import category

from zapomni_core.extraction.openers import is_labelled

_OPENERS = " \t\"'“„«‘(*_[>`¿¡\ufe0f"
_STARTS = ":.!?…—–;|•-\n\0"
_SYMBOL = "So"  # what Unicode calls an emoji
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\]?$")  # of a log
_BOX = re.compile(r"\[[ xX]\]$")  # of a list of tasks
_LOOK_BACK = 12

# German writes every noun with a capital letter.
_GERMAN = re.compile(
    r"\b(?:und|ist|nicht|für|wird|wurde|sind|eine[mnrs]?|ich|wir|auf|dem|zum|zur|auch|über|bei|seit|mit|nach|von|der|das|im|vom|Der|Das|Wir|Ich|gegen|ohne|durch|werden|haben|sich|oder|aber|noch|"
    r"arbeite(?:t|n)|wohnt|lebt|hängt|benutzt|verwendet|nutzt)\b"
)
_NOT_GERMAN = re.compile(r"\b(?:the|of|is|and|to|was|at|by|el|los|que|et|les|est)\b")
_ARTICLE = re.compile(
    r"\b(?:d(?:er|ie|as|em|en|es)|(?:[mds]|k)?eine?[mnrs]?|ihre?[mnrs]?|unse?re?[mnrs]?|diese[mnrs]?|jede[mnrs]?|im|am|vom|zum|zur)\s+$",
    re.IGNORECASE,
)
# What in German has a name after it, and no noun unless with an article.
_NAMED = re.compile(
    r"\b(?:bei|läuft (?:auf|unter)|(?:hängt|hängen|abhängig) von|basiert auf|heißt|namens|nutz(?:t|en)|verwende(?:t|n)|benutz(?:t|en))\s+$"
)
_PLURAL = re.compile(r"\w{3,}(?:en|ern)\b")
_SHOUTED = 3


@dataclass(frozen=True)
class Scene:
    """A sentence as the words in it are judged."""

    text: str
    heading: bool = False
    in_german: bool = False

    @cached_property
    def german(self) -> bool:
        """Whether it is German, by its own words, or by those around it where it has none that tell."""
        if _NOT_GERMAN.search(self.text):
            return False
        return self.in_german or _GERMAN.search(self.text) is not None

    @cached_property
    def shouted(self) -> bool:
        """Whether all of it is in capital letters."""
        return self.text.isupper() and self.text.count(" ") >= _SHOUTED

    def opens_at(self, start: int) -> bool:
        """Whether a word there has its capital letter because something begins."""
        before = self.text[max(0, start - _LOOK_BACK) : start].rstrip(_OPENERS)
        if not before or before[-1] in _STARTS or category(before[-1]) == _SYMBOL:
            return True
        return _LEVEL.search(before) is not None or _BOX.search(before) is not None

    def has_article_before(self, start: int) -> bool:
        """Whether a German article stands before a word: then it is a noun like any other."""
        return self.german and _ARTICLE.search(self.text[max(0, start - _LOOK_BACK) : start]) is not None

    def has_name_at(self, start: int) -> bool:
        """Whether what stands before a German word has a name after it, or a list of people is there."""
        before = self.text[max(0, start - 2 * _LOOK_BACK) : start]
        named = _NAMED.search(before) is not None and _PLURAL.match(self.text, start) is None
        return named or is_labelled(self.text, start)


def is_german(text: str) -> bool:
    """Whether most of the words that tell are German."""
    return len(_GERMAN.findall(text)) > len(_NOT_GERMAN.findall(text))
