from __future__ import annotations

import pytest

from kdive.errors import ExpressionError
from kdive.expr.evaluator import evaluate_cpp
from kdive.expr.typed import describe
from tests.expr.world import HEAD, PROCESS, STACK, World

M = (1 << 64) - 1


@pytest.mark.parametrize(
    ("text", "expected", "type_name"),
    [
        ("10", 10, "int"),
        ("0x10", 16, "int"),
        ("010", 8, "int"),
        ("0", 0, "int"),
        ("10u", 10, "unsigned int"),
        ("10ull", 10, "unsigned int64"),
        ("0xffffffff", 0xFFFFFFFF, "unsigned int"),
        ("4294967295", 0xFFFFFFFF, "int64"),
        ("0x1ffffffff", 0x1FFFFFFFF, "int64"),
        ("'a'", 97, "char"),
        ("true", 1, "bool"),
        ("2147483647 + 1", -(1 << 31) & M, "int"),
        ("-7 / 2", -3 & M, "int"),
        ("-7 % 2", -1 & M, "int"),
        ("-1 < 0", 1, "bool"),
        ("-1 < 0u", 0, "bool"),
        ("-1 >> 1", M, "int"),
        ("0xffffffff >> 4", 0x0FFFFFFF, "unsigned int"),
        ("1 << 31", -(1 << 31) & M, "int"),
        ("~0", M, "int"),
        ("!5", 0, "bool"),
        ("1 ? 2 : 3", 2, "int"),
        ("0 ? 2 : 0 ? 3 : 4", 4, "int"),
        ("1 == 1 && 2 > 1", 1, "bool"),
        ("0 && *(int*)0", 0, "bool"),
        ("1 | 2 ^ 3 & 1", 3, "int"),
        ("(char)0x80", -128 & M, "char"),
        ("(unsigned char)-1", 255, "unsigned char"),
        ("(unsigned char)255 + 1", 256, "int"),
        ("(bool)7", 1, "bool"),
        ("@rax", 0x10, "unsigned int64"),
        ("@rax + 1", 0x11, "unsigned int64"),
        ("@$t1", 0x21, "untyped"),
        ("sizeof(int)", 4, "unsigned int64"),
        ("sizeof(nt!_EPROCESS)", 0x40, "unsigned int64"),
        ("sizeof(struct nt!_EPROCESS)", 0x40, "unsigned int64"),
        ("sizeof(nt!_EPROCESS *)", 8, "unsigned int64"),
        ("sizeof(@$proc->Name)", 8, "unsigned int64"),
        ("sizeof(*@$proc)", 0x40, "unsigned int64"),
        ("sizeof @$proc->Pid", 4, "unsigned int64"),
        ("sizeof(nt!NtBuildNumber)", 4, "unsigned int64"),
        ("sizeof(1 + 1)", 4, "unsigned int64"),
        ("#FIELD_OFFSET(nt!_EPROCESS, Inner.High)", 12, "int"),
        ("#FIELD_OFFSET(_EPROCESS, Words[2])", 0x3C, "int"),
        ("offsetof(nt!_EPROCESS, Links)", 16, "int"),
        ("nt!NtBuildNumber", 17763, "unsigned long"),
        ("nt!PsInitialSystemProcess", PROCESS, "_EPROCESS*"),
        ("nt!PsInitialSystemProcess->Pid", 0x1A4, "unsigned long"),
        ("nt!PsInitialSystemProcess -> Inner . Low", 7, "unsigned long"),
        ("(*nt!PsInitialSystemProcess).Pid", 0x1A4, "unsigned long"),
        ("nt!PsInitialSystemProcess[0].Pid", 0x1A4, "unsigned long"),
        ("nt!TheProcess.Name[0] == 'S'", 1, "bool"),
        ("nt!Name[2]", ord("s"), "char"),
        ("*nt!Name", ord("S"), "char"),
        ("&nt!NtBuildNumber", HEAD + 0x10, "unsigned long*"),
        ("&nt!TheProcess", PROCESS, "_EPROCESS*"),
        ("@$proc + 1", PROCESS + 0x40, "_EPROCESS*"),
        ("1 + @$proc", PROCESS + 0x40, "_EPROCESS*"),
        ("@$proc - 1", PROCESS - 0x40, "_EPROCESS*"),
        ("(@$proc + 3) - @$proc", 3, "int64"),
        ("&@$proc->Words[3] - &@$proc->Words[1]", 2, "int64"),
        ("(char*)@$proc + 1", PROCESS + 1, "char*"),
        ("(void*)16 + 1", 17, "void*"),
        ("*(unsigned short *)(@rsp + 2)", 0x0302, "unsigned short"),
        ("((unsigned short *)@rsp)[1]", 0x0302, "unsigned short"),
        ("@$proc == nt!PsInitialSystemProcess", 1, "bool"),
        ("@$proc->State == -1", 1, "bool"),
        ("StateRunning", 1, "_STATE"),
        ("@$proc->Inner.High < 0", 1, "bool"),
        ("#CONTAINING_RECORD(&@$proc->Links, nt!_EPROCESS, Links)", PROCESS, "_EPROCESS*"),
        ("#CONTAINING_RECORD(&@$proc->Links, nt!_EPROCESS, Links)->Pid", 0x1A4, "unsigned long"),
        ("counter + 1", 6, "int"),
        ("process->Pid", 0x1A4, "unsigned long"),
        ("@@masm(rsp) + 1", STACK + 1, "unsigned int64"),
        ("@@(10)", 16, "untyped"),
    ],
)
def test_values_have_c_types(text: str, expected: int, type_name: str) -> None:
    value = evaluate_cpp(text, World())
    assert (value.number, describe(value.type)) == (expected, type_name)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("rsp", "Couldn't resolve"),
        ("dead", "Couldn't resolve"),
        ("08", "Syntax error"),
        ("1 / 0", "Divide by zero"),
        ("1 = 1", "assignment"),
        ("*5", "points to"),
        ("nt!TheProcess + 1", "is no number"),
        ("@$proc * 2", "cannot be applied"),
        ("-@$proc", "cannot be applied"),
        ("sizeof(void)", "no size"),
        ("(nosuch*)5", "no type"),
        ("1 ? 2", "expected"),
        ("#NOSUCH(1)", "Syntax error"),
        ("#FIELD_OFFSET(nt!_EPROCESS, nosuch)", "no member"),
        ("#FIELD_OFFSET(nt!_EPROCESS)", "expected"),
        ("#FIELD_OFFSET(nt!_EPROCESS, .Pid)", "expected"),
        ("1?" * 5000 + "1", "nested too deeply"),
        ("(int)" * 5000 + "1", "nested too deeply"),
        ("@$proc" + "->Parent" * 5000, "too many member"),
        ("1 >>> 2", "Syntax error"),
    ],
)
def test_wrong_expressions_are_refused(text: str, what: str) -> None:
    with pytest.raises(ExpressionError, match=what):
        evaluate_cpp(text, World())


def test_register_without_at_sign_hints_at_it() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_cpp("rsp + 1", World())
    assert "@rsp" in (caught.value.hint or "")


def test_address_of_a_member_reads_nothing_but_the_pointers_on_the_way() -> None:
    value = evaluate_cpp("&((nt!_EPROCESS*)0x123450000)->Inner.High", World())
    assert value.number == 0x12345000C
