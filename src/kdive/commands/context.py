"""What a command gets: the session, and the few services that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdive.cancel import CancelToken
    from kdive.commands.dispatch import Dispatcher
    from kdive.commands.spec import CommandSpec
    from kdive.expr.ranges import AddressRange
    from kdive.expr.values import Value
    from kdive.session.evaluation import SessionScope
    from kdive.session.session import Session


class CommandContext:
    """Passed to every command handler.

    Attributes:
        session: The session.
        dispatcher: Runs other commands (for ``.foreach`` and the like).
        spec: The command's own declaration.
        name: The name that it was called by.
    """

    def __init__(self, session: Session, dispatcher: Dispatcher, spec: CommandSpec, name: str) -> None:
        self.session = session
        self.dispatcher = dispatcher
        self.spec = spec
        self.name = name

    @property
    def cancel(self) -> CancelToken:
        """The token that Ctrl+C sets; long loops call its ``check``."""
        return self.session.cancel

    @property
    def scope(self) -> SessionScope:
        """The names that expressions see."""
        return self.dispatcher.scope

    @property
    def write(self) -> Callable[[str], None]:
        """Write a line of text at once, before the result (progress of long commands, ``.echo`` in loops)."""
        return self.dispatcher.write

    def evaluate(self, text: str) -> int:
        """Evaluate a whole argument text to a number."""
        return self.value(text).number

    def value(self, text: str) -> Value:
        """Evaluate a whole argument text to a typed value."""
        # The expression language is imported when the first expression is met: many commands need none.
        from kdive.expr.evaluator import evaluate

        return evaluate(text, self.scope)

    def take(self, text: str) -> tuple[int, str]:
        """Evaluate the expression at the start of the arguments; return its number and the rest."""
        from kdive.expr.evaluator import evaluate_prefix

        value, rest = evaluate_prefix(text, self.scope)
        return value.number, rest.strip()

    def range(self, text: str, element_size: int, default_count: int) -> AddressRange:
        """Parse an address range at the start of the arguments."""
        from kdive.expr.ranges import parse_range

        return parse_range(text, self.scope, element_size, default_count)

    def name_of(self, address: int) -> str | None:
        """``mod!name+0x…`` of an address, or None."""
        return self.session.engine.name_of(address)

    def usage_error(self, what: str) -> UsageError:
        """An error that shows how the command is called."""
        return UsageError(what, hint=f"usage: {self.spec.usage}")

    def words(self, text: str) -> list[str]:
        """Split arguments at spaces; double quotes keep words together.

        Raises:
            UsageError: A quote is not closed.
        """
        import shlex

        lexer = shlex.shlex(text, posix=True, punctuation_chars="")
        lexer.whitespace_split = True
        lexer.quotes = '"'
        lexer.escape = ""
        lexer.commenters = ""
        try:
            return list(lexer)
        except ValueError as error:
            raise self.usage_error(f"unbalanced quotes: {text}") from error
