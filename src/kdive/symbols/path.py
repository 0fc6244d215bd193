"""The symbol path in WinDbg's syntax.

``srv*[cache*…]server;directory;cache*directory``: elements parted by ``;``. ``srv*`` (or ``symsrv*symsrv.dll*``) starts
a chain whose first places are caches and whose last is the server, a directory or an ``http(s)`` address. ``cache*dir``
caches everything behind it. A bare address is a server, anything else a directory.

Source: Microsoft, "Symbol path for Windows debuggers" and "Advanced SymSrv use".
"""

from __future__ import annotations

from kdive.record import Record

MICROSOFT_SERVER = "https://msdl.microsoft.com/download/symbols"


class SymbolSource(Record, frozen=True):
    """One element of a symbol path.

    Attributes:
        caches: Directories in symbol-store layout, nearest first; a download lands in the first.
        place: A directory or an ``http(s)`` address; empty if the element is only a cache.
    """

    caches: tuple[str, ...]
    place: str

    @property
    def is_server(self) -> bool:
        """Whether ``place`` is reached over the network."""
        return is_url(self.place)

    def __str__(self) -> str:
        if not self.place:
            return "*".join(["cache", *self.caches])
        if not self.caches and not self.is_server:
            return self.place
        return "*".join(["srv", *self.caches, self.place])


def is_url(text: str) -> bool:
    """Whether ``text`` is an ``http`` or ``https`` address."""
    return text.lower().startswith(("http://", "https://"))


def parse_symbol_path(text: str, default_cache: str) -> list[SymbolSource]:
    """Split a symbol path into its elements.

    Args:
        text: The path.
        default_cache: Directory that an empty cache place (``srv**url``) and a bare server mean.
    """
    sources: list[SymbolSource] = []
    shared: tuple[str, ...] = ()
    for raw in text.split(";"):
        element = raw.strip().strip('"')
        if not element:
            continue
        words = element.split("*")
        kind = words[0].lower()
        if kind == "cache" and len(words) > 1:
            shared = tuple(word or default_cache for word in words[1:])
            sources.append(SymbolSource(shared, ""))
            continue
        if kind == "symsrv" and len(words) > 2:
            words = ["srv", *words[2:]]
            kind = "srv"
        if kind == "srv":
            places = [word or default_cache for word in words[1:]]
            if not places:
                places = [MICROSOFT_SERVER]
            place = places[-1]
            caches = (*shared, *places[:-1])
            if is_url(place) and not caches:
                caches = (default_cache,)
            sources.append(SymbolSource(caches, place))
        elif is_url(element):
            sources.append(SymbolSource(shared or (default_cache,), element))
        else:
            sources.append(SymbolSource(shared, element))
    return sources
