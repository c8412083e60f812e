"""Dates as they are written in English, Russian, German, Spanish and French, and the time for which a sentence holds."""

# ruff: noqa: RUF001 (Russian looks like English)

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Literal

Side = Literal["since", "until", "at", "near"]

_MONTHS = (
    "january jan январь января январе januar enero janvier",
    "february feb февраль февраля феврале februar febrero février",
    "march mar март марта марте märz marzo mars",
    "april apr апрель апреля апреле abril avril",
    "may май мая мае mai mayo",
    "june jun июнь июня июне juni junio juin",
    "july jul июль июля июле juli julio juillet",
    "august aug август августа августе agosto août",
    "september sept sep сентябрь сентября сентябре septiembre septembre",
    "october oct октябрь октября октябре oktober okt octubre octobre",
    "november nov ноябрь ноября ноябре noviembre novembre",
    "december dec декабрь декабря декабре dezember dez diciembre décembre",
)
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}

_YEAR_HINT = re.compile(r"(?<!\d)\d{4}(?!\d)")
_YEAR = re.compile(r"(?<=\s)(?:19|20)\d\d(?![\w:/-]|[.,]\d)")
_PHASE = (
    r"(?: (?:the )?(?:start|beginning|middle|end) of| (?:early|mid|late)| (?:anfang|mitte|ende)| (?:начала|середины|конца)"
    r"| (?:(?:la )?fin|début|(?:el )?final(?:es)?|principios) de)?"
)
_SINCE = re.compile(
    rf"(?:^|\W)(?:since|from|as of|starting(?: in)?|seit|ab|с|со|начиная с|desde|depuis){_PHASE}(?: the| dem| el| le)?\s*$",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    rf"(?:^|\W)(?:until|till|to|through|bis|до|по|hasta|jusqu['’]en|jusqu['’]au|jusqu['’]à|bis zum){_PHASE}(?: the| el)?\s*$",
    re.IGNORECASE,
)
_END = re.compile(r"\b(?:end of|ende|конца|fin de|final(?:es)? de)\s*$", re.IGNORECASE)
_NEAR = re.compile(
    r"(?:^|\W)(?:by|before|after|around|about|circa|vor|nach|gegen|после|перед|около|к|avant|après|vers|antes de|después de|hacia)(?: the| dem| el| le)?\s*$",
    re.IGNORECASE,
)
_IN = re.compile(r"(?:^|\W)(?:in|im|в|en|during|jahr|year|año)\s*$", re.IGNORECASE)
_RANGE = re.compile(
    r"""
    \( \s? (?P<since1> (?:19|20)\d\d ) \s? [-–—] \s? (?: (?P<until1> (?:19|20)\d\d ) | present | now | today | heute | н\.[ ]?в\. )? \s? \)
    | (?: between | zwischen | между | entre ) \s (?P<since2> (?:19|20)\d\d ) \s (?: and | und | и | y | et ) \s (?P<until2> (?:19|20)\d\d ) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LOOK_BACK = 32


@dataclass(frozen=True, slots=True)
class Moment:
    """A date in a text, and its name: as exact as the text says it, `2023-05-08`, `2023-05` or `2023`."""

    start: int
    end: int
    name: str
    date: datetime
    side: Side = "at"


def dates_in(text: str) -> list[Moment]:
    """The dates of a short text that have a month, in order."""
    if not _YEAR_HINT.search(text):
        return []
    return [moment for found in _date().finditer(text) if (moment := _moment(text, found))]


def moments_in(text: str, dates: Iterable[Moment]) -> list[Moment]:
    """The dates of a short text, and the years of which it says that something was then, in order."""
    dates = list(dates)
    years = [year for year in _years(text) if not any(one.start < year.end and year.start < one.end for one in dates)]
    return sorted([*dates, *years], key=lambda moment: moment.start)


def _years(text: str) -> Iterator[Moment]:
    ranges = list(_RANGE.finditer(text))
    for found in ranges:
        yield from _ends(found)
    for found in _YEAR.finditer(text):
        if any(one.start() <= found.start() < one.end() for one in ranges):
            continue
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
        side = _side(before)
        year = int(found[0]) + _is_end(before, side)
        if side in {"since", "until"} or _IN.search(before):
            yield Moment(found.start(), found.end(), found[0], _first_of(year), side)


def _ends(found: re.Match[str]) -> Iterator[Moment]:
    """The two years of a range; of one that goes on there is only the first."""
    ends: tuple[tuple[str | None, Side], ...] = (
        (found["since1"] or found["since2"], "since"),
        (found["until1"] or found["until2"], "until"),
    )
    for year, side in ends:
        if year:
            yield Moment(found.start(), found.end(), year, _first_of(int(year)), side)


def _first_of(year: int, month: int = 1) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def _is_end(before: str, side: Side) -> bool:
    """Whether it lasts until the end of what is named, and not until it begins."""
    return side == "until" and _END.search(before) is not None


def _moment(text: str, found: re.Match[str]) -> Moment | None:
    parts = {key.rstrip("0123456789"): value for key, value in found.groupdict().items() if value}
    try:
        month = _NUMBERS.get(parts["month"].casefold()) or int(parts["month"])
        year, day = int(parts["year"]), int(parts.get("day", 1))
        date = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
    name = f"{year:04}-{month:02}-{day:02}" if "day" in parts else f"{year:04}-{month:02}"
    before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
    side = _side(before)
    if "day" not in parts and _is_end(before, side):
        date = _first_of(year + month // 12, month % 12 + 1)
    return Moment(found.start(), found.end(), name, date, side)


def _side(before: str) -> Side:
    if _SINCE.search(before):
        return "since"
    if _UNTIL.search(before):
        return "until"
    return "near" if _NEAR.search(before) else "at"


@cache
def _date() -> re.Pattern[str]:
    names = "|".join(sorted(_NUMBERS, key=len, reverse=True))
    return re.compile(
        rf"""
        (?<! [\w.:/-] ) (?:
          (?P<year1> \d{{4}} ) - (?P<month1> \d\d ) - (?P<day1> \d\d ) (?: [T ] \d\d:\d\d (?: :\d\d (?: \.\d{{1,9}} )? )? (?: Z | [+-]\d\d:?\d\d )? )?
          | (?P<year2> \d{{4}} ) - (?P<month2> \d\d ) (?! - )
          | (?P<day3> \d\d? ) \. (?P<month3> \d\d? ) \. (?P<year3> \d{{4}} )
          | (?P<day4> \d\d? ) (?: st | nd | rd | th | er | \. | º )? \s (?: of \s | de \s )? (?P<month4> {names} ) \.? ,? \s (?: de \s | del \s )? (?P<year4> \d{{4}} )
          | (?P<month5> {names} ) \.? \s (?P<day5> \d\d? ) (?: st | nd | rd | th )? ,? \s (?P<year5> \d{{4}} )
          | (?P<month6> {names} ) \.? ,? \s (?: of \s | de \s )? (?P<year6> \d{{4}} )
        ) (?! \w | [-/]\d )
        | (?<! \d ) (?P<year7> \d{{4}} ) 年 (?P<month7> \d\d? ) 月 (?: (?P<day7> \d\d? ) 日 )?
        """,
        re.VERBOSE | re.IGNORECASE,
    )
