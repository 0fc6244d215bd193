"""Finding names by parts of them, as people remember them."""

from __future__ import annotations

from kdive.record import Record

_START, _WORD, _RUN, _TOGETHER = 8, 6, 4, 20
"""What a letter is worth at the start of the name, of a word, behind the letter before; what a part in one piece is."""


class Term(Record, frozen=True):
    """A part that a name must have, or must not.

    Attributes:
        text: Its letters, in lower case.
        prefix: The name begins with it.
        suffix: The name ends with it.
        together: Its letters stand together.
        excluded: It must not occur.
    """

    text: str
    prefix: bool = False
    suffix: bool = False
    together: bool = False
    excluded: bool = False


def parse_terms(query: str) -> list[Term]:
    """Read the parts of a query: ``part``, ``^part``, ``part$``, ``'part``, ``!part``, parted by blanks."""
    terms: list[Term] = []
    for word in query.lower().split():
        excluded = word.startswith("!")
        rest = word.removeprefix("!")
        together = rest.startswith("'") or excluded
        rest = rest.removeprefix("'")
        prefix, suffix = rest.startswith("^"), rest.endswith("$") and len(rest) > 1
        rest = rest.removeprefix("^")
        rest = rest[:-1] if suffix else rest
        if rest:
            terms.append(Term(rest, prefix, suffix, together or prefix or suffix, excluded))
    return terms


def widest_pattern(terms: list[Term]) -> str:
    """A wildcard that every name with the longest part matches; a symbol file searches by it quickly."""
    longest = max((term for term in terms if not term.excluded), key=lambda term: len(term.text))
    letters = [f"\\{letter}" if letter in "*?[]#+\\" else letter for letter in longest.text]
    body = "".join(letters) if longest.together else "*".join(letters)
    return f"{'' if longest.prefix else '*'}{body}{'' if longest.suffix else '*'}"


def score(name: str, terms: list[Term]) -> int | None:
    """Say how well a name matches, more is better; None if it does not."""
    total = 0
    lower = name.lower()
    for term in terms:
        if term.excluded:
            if term.text in lower:
                return None
            continue
        if (term.prefix and not lower.startswith(term.text)) or (term.suffix and not lower.endswith(term.text)):
            return None
        worth = _term_score(name, lower, term)
        if worth is None:
            return None
        total += worth
    return total - len(name) // 8


def _term_score(name: str, lower: str, term: Term) -> int | None:
    at = lower.find(term.text)
    if at >= 0:
        best = max(
            _START if place == 0 else _WORD if _begins_word(name, place) else 0 for place in _places(lower, term)
        )
        return _TOGETHER + best + _RUN * (len(term.text) - 1)
    if term.together:
        return None
    worth, at, before = 0, 0, -2
    for letter in term.text:
        at = lower.find(letter, at)
        if at < 0:
            return None
        worth += _START if at == 0 else _WORD if _begins_word(name, at) else 1
        worth += _RUN if at == before + 1 else 0
        before = at
        at += 1
    return worth


def _places(lower: str, term: Term) -> list[int]:
    places: list[int] = []
    at = lower.find(term.text)
    while at >= 0:
        places.append(at)
        at = lower.find(term.text, at + 1)
    return places


def _begins_word(name: str, at: int) -> bool:
    """Whether a word begins here: behind ``_`` or ``:``, or at a capital behind a small letter."""
    before, here = name[at - 1], name[at]
    return not before.isalnum() or (here.isupper() and not before.isupper())
