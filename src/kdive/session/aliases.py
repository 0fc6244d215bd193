"""User-named aliases: text that stands for other text.

Aliases are *text*: what they stand for may hold several commands. Loop variables are *data*: their values come from
what commands print, which the target may have written, so they are put in only when a command has been cut out, and a
semicolon in them starts no second command.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kdive.errors import CommandError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping
    from contextlib import AbstractContextManager

MAX_NESTING = 16
"""How deep aliases may stand for other aliases."""
_MAX_EXPANSION = 1 << 20
_REFERENCE = re.compile(r"\$\{(?:/([vnfd]):)?([^{}\s]+)\}")
_TOKEN = re.compile(r"\$\{(?:/[vnfd]:)?[^{}\s]+\}|(?:(?!\$\{(?:/[vnfd]:)?[^{}\s]+\})[^\s;])+")
_ALIAS_COMMAND = re.compile(r"\s*(?:as|aS|ad|al)(?![\w.!])")


class AliasTable:
    """The aliases of a session, in the order in which they were set."""

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self._data: dict[str, str] = {}

    def set(self, name: str, equivalent: str) -> None:
        """Set or replace an alias.

        Raises:
            UsageError: The name is empty or has blanks, quotes, braces or semicolons in it.
        """
        name = alias_name(name)
        if not name or re.search(r"[\s;\"{}]", name):
            raise UsageError(f"'{name}' is no alias name", hint="an alias name has no blanks, quotes, braces or ;")
        self._aliases[name] = equivalent

    def delete(self, name: str) -> None:
        """Delete one alias, or all with ``*``.

        Raises:
            CommandError: There is no such alias.
        """
        name = alias_name(name)
        if name == "*":
            self._aliases.clear()
        elif self._aliases.pop(name, None) is None:
            raise CommandError(f"no alias '{name}'", hint="al lists the aliases")

    def get(self, name: str) -> str | None:
        """Return what an alias stands for, or None."""
        return self._aliases.get(name)

    def items(self) -> list[tuple[str, str]]:
        """Return all aliases as ``(name, equivalent)``."""
        return list(self._aliases.items())

    def scoped(self, names: Mapping[str, str]) -> AbstractContextManager[None]:
        """Set aliases for the length of a block (script arguments) and then restore the old ones."""
        return _overlaid(self._aliases, names)

    def bound(self, names: Mapping[str, str]) -> AbstractContextManager[None]:
        """Set loop variables for the length of a block; they hide aliases of the same name."""
        return _overlaid(self._data, names)

    def expand(self, text: str) -> str:
        """Replace ``${name}`` anywhere and alias names that stand alone as words.

        ``${/n:name}`` gives the name if the alias exists, ``${/f:name}`` its text or nothing, ``${/d:name}`` 1 or 0,
        and ``${/v:name}`` stays as it is. In lines that define or delete aliases only ``${…}`` is replaced.

        Raises:
            CommandError: Aliases stand for one another too deeply, or the text grows beyond all bounds.
        """
        return self.expand_data(self.expand_aliases(text))

    def expand_aliases(self, text: str) -> str:
        """Do what :meth:`expand` does, but leave the loop variables.

        Raises:
            CommandError: Aliases stand for one another too deeply, or the text grows beyond all bounds.
        """
        if not self._aliases and "${/" not in text:
            return text
        words = _ALIAS_COMMAND.match(text) is None
        return self._expand(text, words, frozenset(self._data), 0)

    def expand_data(self, text: str) -> str:
        """Put the values of loop variables in; nothing inside a value is replaced again.

        Raises:
            CommandError: The text grows beyond all bounds.
        """
        if not self._data:
            return text
        words = _ALIAS_COMMAND.match(text) is None
        return _replace(text, words, self._data.get, self._data.keys(), self._data.keys())

    def _expand(self, text: str, words: bool, active: frozenset[str], depth: int) -> str:
        if depth > MAX_NESTING:
            raise CommandError(f"aliases are nested too deeply (limit {MAX_NESTING})", hint="al lists the aliases")

        def equivalent(name: str) -> str | None:
            # An alias is not replaced inside its own text, as with macros in C.
            value = None if name in active else self._aliases.get(name)
            return None if value is None else self._expand(value, words, active | {name}, depth + 1)

        return _replace(text, words, equivalent, self._aliases.keys(), None, frozenset(self._data))


@contextmanager
def _overlaid(table: dict[str, str], names: Mapping[str, str]) -> Generator[None, None, None]:
    before = {name: table.get(name) for name in names}
    table.update(names)
    try:
        yield
    finally:
        for name, equivalent in before.items():
            if equivalent is None:
                table.pop(name, None)
            else:
                table[name] = equivalent


def _replace(
    text: str,
    words: bool,
    equivalent: Callable[[str], str | None],
    defined: Collection[str],
    only: Collection[str] | None,
    hidden: Collection[str] = (),
) -> str:
    """Replace references and words in one pass.

    Args:
        text: Where to replace.
        words: Whether names that stand alone are replaced too.
        equivalent: Returns what a name stands for.
        defined: The names that ``${/d:…}`` and ``${/n:…}`` find.
        only: If given, references to other names stay.
        hidden: References to these names stay.
    """

    def reference(match: re.Match[str]) -> str:
        switch, name = match[1], match[2]
        if switch == "v" or name in hidden or (only is not None and name not in only):
            return match[0]
        if switch == "n":
            return name if name in defined else match[0]
        if switch == "d":
            return str(int(name in defined))
        value = equivalent(name)
        if switch == "f":
            return value or ""
        return match[0] if value is None else value

    pieces: list[str] = []
    position = size = 0
    glued = False
    for match in _TOKEN.finditer(text):
        written = match[0]
        if written.startswith("${"):
            replacement = _REFERENCE.sub(reference, written)
            glued = True
        else:
            # A word that touches a reference is part of a longer one.
            alone = not (glued and match.start() == position) and not text.startswith("${", match.end())
            value = equivalent(written) if words and alone else None
            replacement = written if value is None else value
            glued = False
        pieces += (text[position : match.start()], replacement)
        size += match.start() - position + len(replacement)
        if size > _MAX_EXPANSION:
            raise CommandError("the text grows too long when its aliases are replaced")
        position = match.end()
    pieces.append(text[position:])
    return "".join(pieces)


def alias_name(written: str) -> str:
    """Return the name behind ``${/v:name}``, the spelling that keeps a name from being replaced; others unchanged."""
    match = re.fullmatch(r"\$\{/v:([^{}\s]+)\}", written)
    return match[1] if match else written
