"""The error tree.

Every error that kdive raises on purpose is a :class:`KdiveError`. It says *what* went wrong, *where*, and, if there is
one, the next step (*hint*). Front ends print ``error: <what> (<where>)`` and then ``hint: <next step>``.
"""

from __future__ import annotations


class KdiveError(Exception):
    """Root of every error raised on purpose.

    Attributes:
        what: One line that says what went wrong.
        where: The place (a file, an address, a column), if there is one.
        hint: What the user can do about it, if there is something.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what


class FormatError(KdiveError):
    """A file or a packet does not have the shape its format asks for.

    Attributes:
        offset: Byte offset in the file or stream at which the trouble was noticed, if known.
    """

    def __init__(
        self, what: str, *, offset: int | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        self.offset = offset
        if where is None and offset is not None:
            where = f"offset {offset:#x}"
        super().__init__(what, where=where, hint=hint)


class UnsupportedError(KdiveError):
    """The input is well formed, but of a kind that kdive does not handle."""


class MemoryAccessError(KdiveError):
    """Memory could not be read or written.

    Attributes:
        address: First address of the access.
        size: Number of bytes asked for.
        reason: Why: not present, paged out, not in dump, …
    """

    def __init__(self, address: int, size: int, reason: str, *, hint: str | None = None) -> None:
        self.address = address
        self.size = size
        self.reason = reason
        unit = "byte" if size == 1 else "bytes"
        super().__init__(f"cannot access {size} {unit} at {address:#x}: {reason}", hint=hint)


class SymbolError(KdiveError):
    """Symbols are missing, do not match, or cannot answer."""


class SymbolNotFoundError(SymbolError, LookupError):
    """No symbol or type of that name."""


class AmbiguousSymbolError(SymbolError):
    """A name matches more than one symbol and the difference matters."""


class ExpressionError(KdiveError):
    """An expression cannot be parsed or evaluated.

    Attributes:
        text: The expression.
        column: 0-based column at which the trouble is.
    """

    def __init__(self, what: str, *, text: str = "", column: int = 0, hint: str | None = None) -> None:
        self.text = text
        self.column = column
        super().__init__(what, hint=hint)

    def __str__(self) -> str:
        if not self.text:
            return self.what
        return f"{self.what}\n  {self.text}\n  {' ' * self.column}^"


class CommandError(KdiveError):
    """A command cannot do what it was asked to do."""


class UsageError(CommandError):
    """A command was called with arguments that it does not take."""


class CapabilityError(CommandError):
    """The target cannot do what the command needs (a dump cannot run, for example)."""


class TargetError(KdiveError):
    """A target cannot be opened or reached."""


class StaleHandleError(KdiveError):
    """A handle outlived the target state it was made in."""


class CancelledError(KdiveError):
    """The operation was cancelled."""

    def __init__(self, what: str = "cancelled") -> None:
        super().__init__(what)


class DeadlineError(CancelledError):
    """The operation ran out of its time."""

    def __init__(self, what: str = "timed out") -> None:
        super().__init__(what)
