"""What a live target has printed, as far back as there is room."""

from __future__ import annotations

from collections import deque

MAX_LINES = 10_000
MAX_LINE = 4096


class Prints:
    """Lines that the target printed: a ring, with a count of what it has lost.

    Attributes:
        lines: Whole lines, oldest first.
        partial: The beginning of a line that has no end yet.
        dropped: How many lines have been pushed out.
    """

    def __init__(self, limit: int = MAX_LINES) -> None:
        self.lines: deque[str] = deque(maxlen=limit)
        self.partial = ""
        self.dropped = 0

    def add(self, text: str) -> None:
        """Take in text, which may be parts of lines or several."""
        *whole, self.partial = (self.partial + text).replace("\r\n", "\n").split("\n")
        while len(self.partial) > MAX_LINE:
            whole.append(self.partial[:MAX_LINE])
            self.partial = self.partial[MAX_LINE:]
        for line in whole:
            self.dropped += len(self.lines) == self.lines.maxlen
            self.lines.append(line[:MAX_LINE])

    def clear(self) -> None:
        """Forget everything."""
        self.lines.clear()
        self.partial, self.dropped = "", 0

    def last(self, count: int) -> list[str]:
        """The last lines, the unfinished one included."""
        everything = [*self.lines, self.partial] if self.partial else list(self.lines)
        return everything[-count:] if count else []
