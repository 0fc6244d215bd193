"""Undecorated names of C++ as Microsoft's and clang's compilers decorate them.

Only the qualified name is read out, as WinDbg shows it in a stack; the type of the whole is left out.

Format facts: the grammar in LLVM's ``MicrosoftDemangle.cpp`` and the calling-convention pages of Microsoft's C++
documentation.
"""

from __future__ import annotations

from kdive.symbols.demangle_tables import (
    BASIC,
    BASIC_2,
    CONST_VOLATILE,
    CONVENTIONS,
    OPERATORS,
    OPERATORS_2,
    RTTI,
    TAGS,
)

_MAX_LENGTH = 4096
_MAX_DEPTH = 48
_MAX_OUTPUT = 1 << 14

_POINTER_HERE = "\0"
_ARRAY_HERE = "\1"
"""Marks in the text of a type: a pointer to it is written there, not at its end."""


class _NotUnderstoodError(Exception):
    """The name does not follow the part of the grammar that is known here."""


def microsoft(name: str) -> str | None:
    """Return the qualified name of a name that starts with ``?``, or None if it is not understood."""
    if len(name) > _MAX_LENGTH:
        return None
    try:
        return _Reader(name).symbol(0)
    except (_NotUnderstoodError, IndexError):
        return None


class _Reader:
    """Reads one decorated C++ name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.names: list[str] = []
        self.types: list[str] = []
        self.written = 0

    def peek(self, prefix: str) -> bool:
        return self.text.startswith(prefix, self.at)

    def take(self, prefix: str) -> bool:
        if self.peek(prefix):
            self.at += len(prefix)
            return True
        return False

    def next(self) -> str:
        char = self.text[self.at]
        self.at += 1
        return char

    def fail(self) -> _NotUnderstoodError:
        return _NotUnderstoodError(self.text)

    def descend(self, depth: int) -> int:
        if depth >= _MAX_DEPTH:
            raise self.fail()
        return depth + 1

    def spend(self, text: str) -> str:
        # Back references let a short name stand for an exponentially long one.
        self.written += len(text)
        if self.written > _MAX_OUTPUT:
            raise self.fail()
        return text

    def symbol(self, depth: int) -> str:
        depth = self.descend(depth)
        if not self.take("?"):
            raise self.fail()
        if self.take("?_C"):
            return "`string'"
        if self.take("?@"):
            raise self.fail()
        name = self.unqualified(depth)
        scopes = self.scopes(depth)
        if name in ("`ctor'", "`dtor'"):
            if not scopes:
                raise self.fail()
            owner = scopes[-1]
            name = owner if name == "`ctor'" else f"~{owner}"
        elif name == "`conversion'":
            name = self.conversion(depth)
        return self.spend("::".join([*scopes, name]))

    def conversion(self, depth: int) -> str:
        # The target of a conversion operator is the return type: behind access, qualifiers and calling convention.
        self.next()
        while self.text[self.at] in "EFIGH":
            self.next()
        self.next()
        self.next()
        return f"operator {self.type(depth)}"

    def unqualified(self, depth: int) -> str:
        depth = self.descend(depth)
        if self.peek("?$"):
            return self.template(depth)
        if self.take("?"):
            return self.special(depth)
        return self.simple()

    def special(self, depth: int) -> str:
        code = self.next()
        if code == "0":
            return "`ctor'"
        if code == "1":
            return "`dtor'"
        if code == "B":
            return "`conversion'"
        if code in OPERATORS:
            word = OPERATORS[code]
            return f"operator {word}" if word[0].isalpha() else f"operator{word}"
        if code != "_":
            raise self.fail()
        code = self.next()
        if code in OPERATORS_2:
            return OPERATORS_2[code]
        if code == "R":
            kind = self.next()
            if kind == "0":
                return f"{self.type(depth)} `RTTI Type Descriptor'"
            if kind == "1":
                place = ", ".join(str(self.number()) for _ in range(4))
                return f"`RTTI Base Class Descriptor at ({place})'"
            if kind in RTTI:
                return RTTI[kind]
        if code == "_":
            kind = self.next()
            if kind in "EF":
                label = "dynamic initializer for" if kind == "E" else "dynamic atexit destructor for"
                if self.peek("?"):
                    target = self.symbol(depth)
                else:
                    name = self.unqualified(depth)
                    return f"`{label} '{name}''"
                self.at = len(self.text)
                return f"`{label} '{target}''"
            if kind == "K":
                return f'operator ""{self.simple()}'
            if kind == "L":
                return "operator co_await"
            if kind == "M":
                return "operator<=>"
        raise self.fail()

    def simple(self) -> str:
        char = self.text[self.at]
        if char.isdigit():
            self.at += 1
            return self.spend(self.names[int(char)])
        end = self.text.find("@", self.at)
        if end <= self.at:
            raise self.fail()
        name = self.text[self.at : end]
        self.at = end + 1
        self.remember(name)
        return name

    def remember(self, name: str) -> None:
        if len(self.names) < 10 and name not in self.names:
            self.names.append(name)

    def scopes(self, depth: int) -> list[str]:
        parts: list[str] = []
        while not self.take("@"):
            if self.at >= len(self.text):
                # Symbols that are cut off or have no type (dynamic initialisers) end here.
                break
            parts.append(self.scope(depth))
        parts.reverse()
        return parts

    def scope(self, depth: int) -> str:
        depth = self.descend(depth)
        if self.peek("?$"):
            return self.template(depth)
        if self.take("?A"):
            end = self.text.find("@", self.at)
            if end < 0:
                raise self.fail()
            self.remember(self.text[self.at : end])
            self.at = end + 1
            return "`anonymous namespace'"
        if self.take("?"):
            number = self.number()
            if self.take("?"):
                inner = self.symbol(depth)
                self.function_tail(depth)
                return self.spend(f"`{inner}'::`{number}'")
            raise self.fail()
        return self.simple()

    def function_tail(self, depth: int) -> None:
        """Skip the type of the enclosing function of a local name, up to the ``@`` that closes it."""
        if self.take("9"):
            return
        access = self.next()
        if access in "012345":  # a variable
            self.type(depth)
            self.next()
            return
        if access not in "YZ" and access not in "CDKLST":
            while self.text[self.at] in "EFIGH":
                self.next()
            self.next()
        self.signature(depth)

    def signature(self, depth: int) -> tuple[str, str, list[str]]:
        """Calling convention, result and parameters."""
        convention = CONVENTIONS.get(self.next(), "")
        result = "" if self.take("@") else self.type(depth, result=True)
        parameters = self.parameters(depth)
        self.take("_E")
        if not self.take("Z"):
            raise self.fail()
        return convention, result, parameters

    def parameters(self, depth: int) -> list[str]:
        if self.take("X"):
            return ["void"]
        parameters: list[str] = []
        while not self.take("@"):
            if self.peek("Z"):  # the ellipsis ends the list; the Z of the throw list follows
                self.next()
                parameters.append("...")
                break
            parameters.append(self.parameter(depth))
        return parameters

    def parameter(self, depth: int) -> str:
        char = self.text[self.at]
        if char.isdigit():
            self.at += 1
            return self.spend(self.types[int(char)])
        start = self.at
        type_ = self.type(depth)
        if self.at - start > 1 and len(self.types) < 10:
            self.types.append(type_)
        return type_

    def template(self, depth: int) -> str:
        """A template name with its arguments; back references inside count from anew."""
        depth = self.descend(depth)
        self.at += 2
        outer_names, outer_types = self.names, self.types
        self.names, self.types = [], []
        try:
            name = self.unqualified(depth)
            arguments: list[str] = []
            while not self.take("@"):
                argument = self.argument(depth)
                if argument is not None:
                    arguments.append(argument)
        finally:
            self.names, self.types = outer_names, outer_types
        closing = " >" if arguments and arguments[-1].endswith(">") else ">"
        whole = self.spend(f"{name}<{','.join(arguments)}{closing}")
        self.remember(whole)
        return whole

    def argument(self, depth: int) -> str | None:
        depth = self.descend(depth)
        if self.take("$$V") or self.take("$$Z") or self.take("$$$V") or self.take("$S"):
            return None
        if self.take("$0"):
            return str(self.number())
        if self.take("$1"):
            if self.take("@"):
                return "0"
            target = self.symbol(depth)
            self.function_tail(depth)
            return f"&{target}"
        if self.take("$M"):
            self.type(depth)
            return self.argument(depth) if self.peek("$") else str(self.number())
        if self.take("$$B"):
            return self.type(depth)
        if self.take("$$Y"):
            return "::".join(reversed([self.simple(), *reversed(self.scopes(depth))]))
        return self.parameter(depth)

    def number(self) -> int:
        sign = -1 if self.take("?") else 1
        char = self.next()
        if char.isdigit():
            return sign * (int(char) + 1)
        value = 0
        while char != "@":
            if not "A" <= char <= "P" or value >> 64:
                raise self.fail()
            value = value * 16 + ord(char) - ord("A")
            char = self.next()
        return sign * value

    def type(self, depth: int, *, result: bool = False) -> str:
        return self.marked(depth, result=result).replace(_POINTER_HERE, "").replace(_ARRAY_HERE, "")

    def marked(self, depth: int, *, result: bool = False) -> str:
        """A type, with the marks at which a pointer to it is written."""
        depth = self.descend(depth)
        if self.take("?"):
            qualifiers = self.qualifiers()
            inner = self.marked(depth)
            return f"{inner} {qualifiers}".rstrip() if qualifiers and not result else inner
        if self.take("$$C"):
            qualifiers = self.qualifiers()
            inner = self.marked(depth)
            return f"{inner} {qualifiers}".rstrip()
        if self.take("$$A6"):
            convention, returned, parameters = self.signature(depth)
            return self.spend(f"{returned} {convention}({','.join(parameters)})")
        if self.take("$$A8"):
            raise self.fail()
        if self.take("$$T"):
            return "std::nullptr_t"
        if self.take("$$Q"):
            return self.indirect("&&", "", depth)
        if self.take("$$R"):
            return self.indirect("&&", "volatile", depth)
        char = self.next()
        if char in BASIC:
            return BASIC[char]
        if char == "_":
            code = self.next()
            if code in BASIC_2:
                return BASIC_2[code]
            raise self.fail()
        if char in TAGS:
            return f"{TAGS[char]} {self.qualified(depth)}"
        if char == "W":
            self.next()
            return f"enum {self.qualified(depth)}"
        if char in "PQRS":
            own = {"P": "", "Q": "const", "R": "volatile", "S": "const volatile"}[char]
            return self.indirect("*", own, depth)
        if char in "AB":
            return self.indirect("&", "" if char == "A" else "volatile", depth)
        if char == "Y":
            sizes = [abs(self.number()) for _ in range(min(abs(self.number()), 16))]
            return self.spend(self.type(depth) + _ARRAY_HERE + "".join(f"[{size}]" for size in sizes))
        raise self.fail()

    def qualified(self, depth: int) -> str:
        name = self.unqualified(depth)
        return self.spend("::".join([*self.scopes(depth), name]))

    def qualifiers(self) -> str:
        extra = self.extra_qualifiers()
        code = self.next()
        if code not in CONST_VOLATILE:
            raise self.fail()
        return " ".join(part for part in (CONST_VOLATILE[code], "__unaligned" if "F" in extra else "") if part)

    def extra_qualifiers(self) -> str:
        start = self.at
        while self.text[self.at] in "EFI":
            self.next()
        return self.text[start : self.at]

    def indirect(self, mark: str, own: str, depth: int) -> str:
        """A pointer or reference, behind its code: ``mark`` is how it is written, ``own`` its own qualifiers."""
        if self.take("6"):
            convention, result, parameters = self.signature(depth)
            return self.spend(f"{result} ({convention}{mark}{own}{_POINTER_HERE})({','.join(parameters)})")
        if self.take("8"):
            owner = self.qualified(depth)
            while self.text[self.at] in "EFIGH":
                self.next()
            self.next()
            convention, result, parameters = self.signature(depth)
            place = f"{convention} {owner}::{mark}{own}{_POINTER_HERE}"
            return self.spend(f"{result} ({place})({','.join(parameters)})")
        extra = self.extra_qualifiers()
        code = self.next()
        if "I" in extra:
            own = f"{own} __restrict".strip()
        if code in "QRST":  # a pointer to a data member
            owner = self.qualified(depth)
            return self.spend(f"{self.type(depth)} {owner}::{mark}")
        if code not in CONST_VOLATILE:
            raise self.fail()
        inner = self.marked(depth)
        for here, form in ((_POINTER_HERE, "{}"), (_ARRAY_HERE, " ({})")):
            if here in inner:
                return self.spend(inner.replace(here, form.format(f"{mark}{own}{_POINTER_HERE}"), 1))
        unaligned = "__unaligned" if "F" in extra else ""
        return self.spend(" ".join(part for part in (inner, CONST_VOLATILE[code], unaligned, mark, own) if part))
