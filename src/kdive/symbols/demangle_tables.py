"""The codes of decorated C++ names and what they stand for.

Format facts: the grammar in LLVM's ``MicrosoftDemangle.cpp``.
"""

from __future__ import annotations

# fmt: off
OPERATORS = {
    "2": "new", "3": "delete", "4": "=", "5": ">>", "6": "<<", "7": "!", "8": "==", "9": "!=", "A": "[]",
    "C": "->", "D": "*", "E": "++", "F": "--", "G": "-", "H": "+", "I": "&", "J": "->*", "K": "/", "L": "%",
    "M": "<", "N": "<=", "O": ">", "P": ">=", "Q": ",", "R": "()", "S": "~", "T": "^", "U": "|", "V": "&&",
    "W": "||", "X": "*=", "Y": "+=", "Z": "-=",
}
# fmt: on
OPERATORS_2 = {
    "0": "operator/=",
    "1": "operator%=",
    "2": "operator>>=",
    "3": "operator<<=",
    "4": "operator&=",
    "5": "operator|=",
    "6": "operator^=",
    "7": "`vftable'",
    "8": "`vbtable'",
    "9": "`vcall'",
    "A": "`typeof'",
    "B": "`local static guard'",
    "D": "`vbase destructor'",
    "E": "`vector deleting destructor'",
    "F": "`default constructor closure'",
    "G": "`scalar deleting destructor'",
    "H": "`vector constructor iterator'",
    "I": "`vector destructor iterator'",
    "J": "`vector vbase constructor iterator'",
    "K": "`virtual displacement map'",
    "L": "`eh vector constructor iterator'",
    "M": "`eh vector destructor iterator'",
    "N": "`eh vector vbase constructor iterator'",
    "O": "`copy constructor closure'",
    "S": "`local vftable'",
    "T": "`local vftable constructor closure'",
    "U": "operator new[]",
    "V": "operator delete[]",
    "X": "`placement delete closure'",
    "Y": "`placement delete[] closure'",
}
RTTI = {
    "2": "`RTTI Base Class Array'",
    "3": "`RTTI Class Hierarchy Descriptor'",
    "4": "`RTTI Complete Object Locator'",
}
BASIC = {
    "C": "signed char",
    "D": "char",
    "E": "unsigned char",
    "F": "short",
    "G": "unsigned short",
    "H": "int",
    "I": "unsigned int",
    "J": "long",
    "K": "unsigned long",
    "M": "float",
    "N": "double",
    "O": "long double",
    "X": "void",
    "Z": "...",
}
BASIC_2 = {
    "D": "__int8",
    "E": "unsigned __int8",
    "F": "__int16",
    "G": "unsigned __int16",
    "H": "__int32",
    "I": "unsigned __int32",
    "J": "__int64",
    "K": "unsigned __int64",
    "L": "__int128",
    "M": "unsigned __int128",
    "N": "bool",
    "Q": "char8_t",
    "S": "char16_t",
    "U": "char32_t",
    "W": "wchar_t",
}
TAGS = {"T": "union", "U": "struct", "V": "class"}
CONST_VOLATILE = {"A": "", "B": "const", "C": "volatile", "D": "const volatile"}


CONVENTIONS = {
    **dict.fromkeys("AB", "__cdecl"),
    **dict.fromkeys("CD", "__pascal"),
    **dict.fromkeys("EF", "__thiscall"),
    **dict.fromkeys("GH", "__stdcall"),
    **dict.fromkeys("IJ", "__fastcall"),
    **dict.fromkeys("MN", "__clrcall"),
    "Q": "__vectorcall",
}
TABLES = (OPERATORS, OPERATORS_2, RTTI, BASIC, BASIC_2, CONVENTIONS)
OTHER_WORDS = (
    "operator string anonymous namespace dynamic initializer for atexit destructor co_await union struct class enum"
    " const volatile std nullptr_t type descriptor at __unaligned __restrict"
)
