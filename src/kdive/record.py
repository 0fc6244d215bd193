"""The base of plain data: ``class Name(Record)``, or ``class Name(Record, frozen=True)`` for what never changes.

Every layer declares its data as records. They are ``msgspec`` structures under a name that a debugger full of
structures can tell apart. Such a class is made in microseconds where a standard data class takes most of a millisecond,
and kdive has some two hundred: half of the time of a short command line.
"""

from msgspec import Struct as Record
from msgspec import field

__all__ = ["Record", "field"]
