"""The words between two names, without those that change nothing of what they say."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from functools import cache

_AND = re.compile(
    r",?\s?\b(?:and then|and|but now|but|then|и|а|но|und|aber|y|e|pero|et|mais)\s|,\s(?=\w)", re.IGNORECASE
)
_OTHER = re.compile(
    r"\b(?:who|whom|whose|that|which|where|if|when|because|котор\w+|что|чтобы|если|когда|dass|weil|wenn|als|que|qui|quien|si|quand|cuando)\b"
)


def bare(between: str) -> str:
    """The words on one line, in small letters, without the marks around names."""
    return " ".join(between.removeprefix("()").split()).strip('*_"“”«»„` ').casefold()


def without_fillers(words: str) -> str:
    """The same without times, adverbs, and `who` after a comma."""
    return " ".join(_who().sub("", _fillers().sub(" ", f" {words} ")).split())


def continued(words: str) -> tuple[str, str] | None:
    """Where a second thing is said of the same subject, what goes before it and its own words: `uses`, from `and uses`."""
    found = list(_AND.finditer(words))
    if not found:
        return None
    head, tail = without_fillers(words[: found[-1].start()]), words[found[-1].end() :]
    return None if _OTHER.search(head) else (head, tail)


def seam(between: str) -> int:
    """Where that second thing begins, in the words as they are written."""
    return max((found.start() for found in _AND.finditer(between)), default=0)


@cache
def _who() -> re.Pattern[str]:
    return re.compile(r"^ ?,? ?(?:who|котор(?:ый|ая)|qui|que|quien) ")


@cache
def _fillers() -> re.Pattern[str]:
    adverbs = """
        now|currently|still|also|already|just|recently|directly|actually|again|today|meanwhile|happily|finally
        |jetzt|derzeit|noch|auch|schon|inzwischen|aktuell|heute|wieder|gerade
        |сейчас|теперь|уже|пока|тоже|также|недавно|снова|опять
        |ahora|actualmente|todavía|también|hoy|maintenant|actuellement|aussi|toujours|encore|désormais
        |ora|adesso|anche|agora|também
    """
    years = (
        r"(?:since|from|in|as of|seit|ab|im|с|со|в|во|desde|en|depuis|dal|nel)(?: (?:the|early|late|dem|jahr|anfang|mitte|ende|el|le))?"
        r"(?: [^\W\d_]{3,12}(?: de)?)? (?:19|20)\d\d(?: (?:года|году|г\.))?|(?:19|20)\d\d"
    )
    called = r"(?:an?|einem?r?|une?|una) (?:[\w-]+ ){1,2}(?:called|named|namens|appelée?|llamad[oa])"
    return re.compile(rf"(?<= )(?:{''.join(adverbs.split())}|{years}|{called})(?= )", re.IGNORECASE)
