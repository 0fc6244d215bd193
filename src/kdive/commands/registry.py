"""All commands by name; a command's module is imported when the command is first asked for."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING

from kdive.commands.index import MODULES
from kdive.commands.spec import CommandSpec

if TYPE_CHECKING:
    from collections.abc import Iterator


class Registry:
    """Finds commands."""

    def __init__(self) -> None:
        self._specs: dict[str, CommandSpec] = {}

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {name: module for module, names in MODULES.items() for name in names}

    def names(self) -> list[str]:
        """Every name, without importing anything."""
        return sorted(self._modules)

    def find(self, name: str) -> CommandSpec | None:
        """Return the command of a name. Case matters (``dd`` and ``dD`` differ), except behind ``.`` and ``!``."""
        module = self._modules.get(name)
        if module is None and name[:1] in (".", "!"):
            name = name.lower()
            module = self._modules.get(name)
        if module is None:
            return None
        if name not in self._specs:
            self._specs.update(self._load(module))
        return self._specs.get(name)

    def all(self) -> Iterator[CommandSpec]:
        """Import every module and yield each command once, in index order."""
        for module, names in MODULES.items():
            specs = self._load(module)
            seen: set[int] = set()
            for name in names:
                spec = specs[name]
                if id(spec) not in seen:
                    seen.add(id(spec))
                    yield spec

    @staticmethod
    def _load(module: str) -> dict[str, CommandSpec]:
        loaded = importlib.import_module(f"kdive.commands.{module}")
        specs = [value for value in vars(loaded).values() if isinstance(value, CommandSpec)]
        return {name: spec for spec in specs for name in spec.names}
