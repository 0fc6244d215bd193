"""The registers of threads that do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdive.arch.context import RegisterContext
from kdive.errors import KdiveError
from kdive.nt.processors import processor_context

if TYPE_CHECKING:
    from kdive.nt.kernel import Kernel
    from kdive.nt.processes import Thread


def thread_context(kernel: Kernel, thread: Thread, processor: int | None) -> RegisterContext:
    """Return the registers from which a thread's stack can be walked.

    A running thread has its processor's. Any other was switched out in ``nt!KiSwapContext``: its ``KernelStack`` points
    at the switch frame (``_KSWITCH_FRAME`` on AMD64: the return address lies behind it).

    Raises:
        KdiveError: They are not in the target.
    """
    if processor is not None:
        return processor_context(kernel, processor)
    stack = thread.view["Tcb.KernelStack"]
    if not stack:
        raise KdiveError("the thread has no kernel stack")
    if kernel.target.machine == "arm64":
        frame = kernel.struct("_KSWITCH_FRAME", stack)
        values = {"sp": stack + frame.type.size, "pc": frame["Return"], "fp": frame.get("Fp")}
        return RegisterContext("arm64", values)
    frame = kernel.struct("_KSWITCH_FRAME", stack)
    values = dict.fromkeys(("rax", "rcx", "rdx", "rbx", "rsi", "rdi", *(f"r{n}" for n in range(8, 16))), 0)
    values |= {
        "rbp": frame["Rbp"],
        "rip": frame["Return"],
        "rsp": stack + frame.offset_of("Return") + 8,
    }
    return RegisterContext("amd64", values)
