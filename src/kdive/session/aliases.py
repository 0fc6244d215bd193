"""Aliases: names that stand for text in command lines.

Source: Microsoft, "Using aliases". A user-named alias is replaced where it stands as a word of its own, or anywhere as
``${name}``; ``${/f:name}`` is empty if there is none, ``${/d:name}`` is 1 or 0, ``${/n:name}`` is the name and
``${/v:name}`` is never replaced. Lines that begin with ``as``, ``aS``, ``ad`` or ``al`` are left alone, so that aliases
can be redefined.
"""

from __future__ import annotations

import re

from kdive.errors import CommandError

_BRACED = re.compile(r"\$\{(?:/([fdnv]):)?([^{}\s]+)\}")
_UNTOUCHED = re.compile(r"\s*(as|aS|ad|al)\b")
_MAX_PASSES = 16
_SHIELD = "\0"
"""Stands before a name that must not be replaced again."""
_MAX_LENGTH = 1 << 20


class AliasTable:
    """The aliases of a session."""

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}

    def items(self) -> list[tuple[str, str]]:
        """Names and texts, sorted by name."""
        return sorted(self._aliases.items())

    def set(self, name: str, text: str) -> None:
        """Define an alias.

        Raises:
            CommandError: The name cannot be one.
        """
        if not name or any(char.isspace() or char in '{};"' for char in name):
            raise CommandError(f"{name!r} cannot be the name of an alias")
        self._aliases[name] = text

    def get(self, name: str) -> str | None:
        """Return the text of an alias."""
        return self._aliases.get(name)

    def delete(self, name: str) -> bool:
        """Remove an alias, or all with ``*``; say whether there was one."""
        if name == "*":
            found = bool(self._aliases)
            self._aliases.clear()
            return found
        return self._aliases.pop(name, None) is not None

    def expand(self, line: str, extra: dict[str, str] | None = None) -> str:
        """Replace aliases in a line until nothing changes.

        Args:
            line: The line.
            extra: More names that only ``${name}`` finds (``@#ModuleName``, ``$arg1``, the variable of ``.foreach``).

        Raises:
            CommandError: An alias leads back to itself.
        """
        if _UNTOUCHED.match(line):
            return line
        named = {**self._aliases, **(extra or {})}
        if not named and "${" not in line:
            return line
        for _ in range(_MAX_PASSES):
            replaced = self._once(line, named)
            if replaced == line:
                return line.replace(_SHIELD, "")
            if len(replaced) > _MAX_LENGTH:
                break
            line = replaced
        raise CommandError("an alias leads back to itself", hint="al lists the aliases")

    def _once(self, line: str, named: dict[str, str]) -> str:
        def braced(match: re.Match[str]) -> str:
            switch, name = match.groups()
            if switch == "v":
                return match.group()
            if switch == "n":
                return _SHIELD + name
            if switch == "d":
                return "1" if name in named else "0"
            if name in named:
                return named[name]
            return "" if switch == "f" else match.group()

        line = _BRACED.sub(braced, line)
        if not self._aliases:
            return line
        words = "|".join(re.escape(name) for name in sorted(self._aliases, key=len, reverse=True))
        return re.sub(rf"(?<![^\s;{{(])(?:{words})(?![^\s;}})])", lambda m: self._aliases[m.group()], line)
