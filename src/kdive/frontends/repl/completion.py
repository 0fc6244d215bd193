"""Completion of commands, modules, symbols, types and files."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from kdive.errors import KdiveError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from kdive.frontends.shell import Shell
    from kdive.session.owner import Owner

_LIMIT = 200
_TIME = 1.0
_WORD = re.compile(r"[\w!.:~?@$#/\\*-]*$")
_FILE_COMMANDS = ("$<", "$><", "$$<", "$$><", "$$>a<", ".logopen", ".logappend", ".writemem")
_TYPE_COMMANDS = ("dt", "??")


class CommandCompleter(Completer):
    """Offers what can stand at the cursor.

    Args:
        owner: Runs the look-ups.
        shell: Whose session is asked.
    """

    def __init__(self, owner: Owner, shell: Shell) -> None:
        self._owner = owner
        self._shell = shell

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """See :meth:`prompt_toolkit.completion.Completer.get_completions`."""
        del complete_event
        text = document.text_before_cursor
        command = re.split(r"[;{]", text)[-1].lstrip()
        match = _WORD.search(text)
        word = match.group() if match else ""
        for candidate in self.candidates(command, word):
            yield Completion(candidate, start_position=-len(word))

    def candidates(self, command: str, word: str) -> list[str]:
        """The completions of a word in a command."""
        head = command.split(None, 1)[0] if command.split() else ""
        if command == word or not head:
            names = self._shell.dispatcher.registry.names()
            return [name for name in names if name.startswith(word)]
        if head in _FILE_COMMANDS:
            return _files(word)
        try:
            return self._owner.call(lambda: self._look_up(head, word), timeout=_TIME)
        except KdiveError:
            return []

    def _look_up(self, head: str, word: str) -> list[str]:
        engine = self._shell.session.engine
        module_name, bang, name = word.partition("!")
        if not bang:
            modules = [f"{module.name}!" for module in engine.modules if module.name.lower().startswith(word.lower())]
            registers = [name for name in self._shell.dispatcher.scope.pseudo_names() if f"@${name}".startswith(word)]
            return modules + ([f"@${name}" for name in registers] if word.startswith("@$") else [])
        state = engine.state_named(module_name)
        if state is None:
            return []
        symbols = engine.symbols_of(state)
        if symbols is None:
            return []
        if head in _TYPE_COMMANDS:
            return [f"{module_name}!{found}" for found, _ in itertools.islice(symbols.search_types(f"{name}*"), _LIMIT)]
        return [f"{module_name}!{symbol.name}" for symbol in itertools.islice(symbols.search(f"{name}*"), _LIMIT)]


def _files(word: str) -> list[str]:
    path = Path(word or ".")
    folder = path if word.endswith("/") or not word else path.parent
    try:
        entries = sorted(folder.expanduser().iterdir())
    except OSError:
        return []
    prefix = "" if word.endswith("/") or not word else path.name
    base = "" if str(folder) == "." and not word.startswith("./") else f"{folder}/".replace("//", "/")
    return [f"{base}{entry.name}{'/' if entry.is_dir() else ''}" for entry in entries if entry.name.startswith(prefix)]
