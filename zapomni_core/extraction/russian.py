"""Russian names as a dictionary has them: Берлине is Берлин and Москву is Москва, where that is known or the text itself shows it."""

# ruff: noqa: RUF001, RUF002 (Russian looks like English)

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from zapomni_core.extraction.gazetteer import known_in_russian

_FIRST, _LAST = "\u0400", "\u04ff"
_STEMS = {"павел": "павл", "лев": "льв"}
_SOFT_MEN = frozenset({"игорь", "ярославль", "севастополь", "симферополь", "ставрополь", "израиль", "эмиль"})
_HUSHED, _HARD = "жшчщ", "гкхжшчщ"
# Words that end so bend as men do, whatever they name.
_FIRM = re.compile(
    r"(.{2,}(?:екс|банк|пром|град|бург|софт|тех|строй|маркет|телеком|сервис|инвест))(?:а|у|ом|е)|(.{3,}ск)е",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"([А-ЯЁ]{3,})-?(?:а|у|ом|е)")
_FATHERS = (
    (re.compile(r"(.+(?:ович|евич|ьич))(?:а|у|ем|е)"), r"\1"),
    (re.compile(r"(.+(?:овн|евн|ичн))(?:ы|е|у|ой)"), r"\1а"),
)
_MEN = (
    (re.compile(r"(.+(?:[оеё]в|[иы]н))(?:а|у|ым|е)"), r"\1"),
    (re.compile(r"(.+ск)(?:ого|ому|им|ом)"), r"\1ий"),
    (re.compile(r"(.+[бвгджзклмнпрстфхцчшщ])(?:у|ом)"), r"\1"),
)
_WOMEN = (
    (re.compile(r"(.+(?:[оеё]в|[иы]н))(?:ой|у)"), r"\1а"),
    (re.compile(r"(.+ск)(?:ой|ую)"), r"\1ая"),
)
_ENDING = re.compile(r"(?:ой|ей|ом|ем|[аяуюеыи])?$")
_SURNAME = re.compile(r"(?:[оеё]в|[иы]н)(?:а|у|ым|ой|е)?$")
_SHORTEST = 4
_OF_MEN, _OF_WOMEN = frozenset("а у ом ем е".split()), frozenset("ы и е у ой ей".split())  # noqa: SIM905 (endings)


def is_russian(name: str) -> bool:
    """Whether it begins with a letter of the script; the other languages that share it bend as Russian does, or nearly."""
    return _FIRST <= name[:1] <= _LAST


def nominative(name: str) -> str:
    """The name as a dictionary has it, if that is known; else the same."""
    first, *others = name.split(" ")
    plain = _known(first) or _unbent(first) or (_firm(first) if not others else None) or first
    if not others:
        return plain
    kin = [_replaced(word, _FATHERS) for word in others]
    if plain == first and kin == others:
        return name
    surnames = _WOMEN if plain[-1:] in {"а", "я"} and plain not in {"Илья", "Никита"} else _MEN
    return " ".join(
        [
            plain,
            *(_replaced(word, surnames) if word == other else word for word, other in zip(kin, others, strict=True)),
        ]
    )


def merged(names: Iterable[str]) -> dict[str, str]:
    """For single words of a text that are one name in several cases: what each is called."""
    stems: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        stem = _ENDING.sub("", name)
        if len(stem) >= _SHORTEST and name.casefold().replace("ё", "е") not in _cases() and not _SURNAME.search(name):
            stems[stem].add(name)
    return {
        name: main for stem, found in stems.items() if (main := _main(stem, found)) for name in found if name != main
    }


def _main(stem: str, found: set[str]) -> str | None:
    """What looks like a nominative, if all others are its cases."""
    for main, endings in ((stem, _OF_MEN), (stem + "а", _OF_WOMEN), (stem + "я", _OF_WOMEN)):
        if main in found and all(name == main or name.removeprefix(stem) in endings for name in found):
            return main
    return None


def _known(word: str) -> str | None:
    plain = _cases().get(word.casefold().replace("ё", "е")) if word.istitle() else None
    if plain is None or plain == word.casefold().replace("ё", "е"):
        return None
    stem = 0
    while stem < min(len(plain), len(word)) and word[stem].casefold().replace("ё", "е") == plain[stem]:
        stem += 1
    return word[:stem] + plain[stem:]


def _unbent(word: str) -> str | None:
    """An abbreviation without its ending, which is in small letters: КАМАЗе."""
    found = _ABBREVIATION.fullmatch(word)
    return found[1] if found else None


def _firm(word: str) -> str | None:
    found = _FIRM.fullmatch(word)
    return (found[1] or found[2]) if found else None


def _replaced(word: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, plain in rules:
        if found := pattern.fullmatch(word):
            return found.expand(plain)
    return word


@cache
def _cases() -> dict[str, str]:
    """Every case of the names that are known. Where a case of one name is another name, it is that other one."""
    cases = {name: name for name in known_in_russian()}
    for name in known_in_russian():
        for form in _forms(name):
            cases.setdefault(form, name)
    return cases


def _forms(name: str) -> list[str]:
    stem = _STEMS.get(name, name[:-1] if name[-1] in "аяйь" else name)
    return [stem + ending for ending in _endings(name, stem)]


def _endings(name: str, stem: str) -> tuple[str, ...]:
    if name.endswith(("ия", "ий")):
        return ("и", "ю", "ей") if name[-1] == "я" else ("я", "ю", "ем", "и")
    if name.endswith("а"):
        return ("и" if stem[-1] in _HARD else "ы", "е", "у", "ей" if stem[-1] in _HUSHED else "ой")
    if name.endswith("я"):
        return ("и", "е", "ю", "ей")
    if name.endswith("й") or name in _SOFT_MEN:
        return ("я", "ю", "ем", "е")
    if name.endswith("ь"):
        return ("и", "ью")
    return () if name[-1] in "оеиуыэю" else ("а", "у", "ом", "е")
