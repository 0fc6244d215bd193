"""Starts virtual machines with the guest, for tests and for people (`make lab`).

Each machine has a folder of its own with its sockets: ``kd.sock`` (KD over COM1), ``mailbox.sock`` (COM2),
``gdb.sock``, ``qmp.sock``, and ``ram.bin``, its memory. It ends with whoever started it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAB = Path(__file__).resolve().parent
sys.path.insert(0, str(LAB))
from image import KERNEL_BASE, build_image  # noqa: E402

QEMU = "qemu-system-x86_64"
INSTALL = "apt-get install qemu-system-x86"
_PR_SET_PDEATHSIG = 1
_DEADLINE = 20.0


class GuestError(Exception):
    """The machine did not start, or the guest did not answer."""


def _end_with_parent() -> None:
    """In the child: be killed when the parent dies, whatever it dies of."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A running virtual machine.

    Args:
        cpus: How many processors it has, at most 4.
        memory: Megabytes of memory.
        base: Load address of the kernel.
        seed: Passed to the guest.
        accelerator: ``tcg`` or ``kvm``.

    Attributes:
        folder: Its files.
        kd: Path of the KD socket.
        gdb: Path of the socket of QEMU's gdb stub.
        ram: The machine's memory as a file.
    """

    def __init__(
        self,
        cpus: int = 1,
        memory: int = 64,
        base: int = KERNEL_BASE,
        seed: int = 0,
        accelerator: str = "tcg,tb-size=32",
    ) -> None:
        program = shutil.which(QEMU)
        if program is None:
            raise GuestError(f"{QEMU} is missing: {INSTALL}")
        self.folder = Path(tempfile.mkdtemp(prefix="kdive-lab-"))
        self.kd, self.gdb, self.ram = self.folder / "kd.sock", self.folder / "gdb.sock", self.folder / "ram.bin"
        self._mailbox: socket.socket | None = None
        self._received = b""
        (self.folder / "boot.elf").write_bytes(build_image(memory << 20, base, seed))
        command = [
            *(program, "-accel", accelerator, "-cpu", "qemu64", "-m", str(memory), "-smp", str(cpus)),
            *("-object", f"memory-backend-file,id=ram,size={memory}M,mem-path={self.ram},share=on"),
            *("-machine", "pc,memory-backend=ram", "-display", "none", "-nodefaults", "-no-user-config"),
            *_serial("kd", self.kd, wait=False),
            # The machine starts when somebody listens: what the guest says first is not lost.
            *_serial("mailbox", self.folder / "mailbox.sock", wait=True),
            *(
                "-gdb",
                f"unix:{self.gdb},server=on,wait=off",
                "-qmp",
                f"unix:{self.folder / 'qmp.sock'},server=on,wait=off",
            ),
            *("-device", "vmcoreinfo"),
            *("-kernel", str(self.folder / "boot.elf")),
        ]
        self._log = (self.folder / "qemu.log").open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, preexec_fn=_end_with_parent
        )
        try:
            self._mailbox = self._connect(self.folder / "mailbox.sock")
        except BaseException:
            self.close()
            raise

    def _connect(self, path: Path) -> socket.socket:
        end = time.monotonic() + _DEADLINE
        while True:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(_DEADLINE)
            try:
                connection.connect(str(path))
            except OSError:
                connection.close()
                if self.process.poll() is not None or time.monotonic() > end:
                    text = (self.folder / "qemu.log").read_text("utf-8", "replace")
                    raise GuestError(f"QEMU did not start: {text.strip()}") from None
                time.sleep(0.01)
            else:
                return connection

    def wait_ready(self) -> None:
        """Wait until the guest has booted.

        Raises:
            GuestError: It has not within 20 seconds.
        """
        self._read_until("ready")

    def _read_until(self, last: str) -> list[str]:
        assert self._mailbox is not None
        lines: list[str] = []
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                text = line.decode("utf-8", "replace")
                if text == last or text.startswith("error"):
                    return [*lines, text]
                lines.append(text)
                continue
            try:
                data = self._mailbox.recv(4096)
            except OSError as error:
                raise GuestError(f"the guest does not answer: {error}; it said {lines}") from error
            if not data:
                raise GuestError("the machine has ended")
            self._received += data

    def send(self, command: str) -> None:
        """Give the guest a command without waiting for its answer."""
        assert self._mailbox is not None
        self._mailbox.sendall(command.encode() + b"\n")

    def has_answer(self) -> bool:
        """Whether the guest has said something that was not read yet."""
        assert self._mailbox is not None
        return bool(self._received) or bool(select.select([self._mailbox], [], [], 0)[0])

    def answer(self) -> list[str]:
        """Wait for the answer to a command: the lines before ``ok``.

        Raises:
            GuestError: It is an error, or there is none.
        """
        *lines, last = self._read_until("ok")
        if last != "ok":
            raise GuestError(last)
        return lines

    def command(self, command: str) -> list[str]:
        """Give the guest a command and wait for its answer."""
        self.send(command)
        return self.answer()

    def qmp(self, command: str, **arguments: object) -> object:
        """Run a QMP command and return what it returns.

        Raises:
            GuestError: QEMU refuses.
        """
        with self._connect(self.folder / "qmp.sock") as connection, connection.makefile("rw") as stream:
            stream.readline()
            for name, values in (("qmp_capabilities", {}), (command, arguments)):
                stream.write(json.dumps({"execute": name, "arguments": values}) + "\n")
                stream.flush()
                while "return" not in (reply := json.loads(stream.readline())):
                    if "error" in reply:
                        raise GuestError(str(reply["error"]))
            return reply["return"]

    def dump(self, path: Path) -> None:
        """Write the machine's memory as a Windows crash dump; it stands still meanwhile.

        Raises:
            GuestError: QEMU cannot.
        """
        self.qmp("dump-guest-memory", paging=False, protocol=f"file:{path}", format="win-dmp")

    def close(self) -> None:
        """End the machine and remove its files."""
        if self._mailbox is not None:
            self._mailbox.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serial(name: str, path: Path, *, wait: bool) -> tuple[str, ...]:
    waiting = "on" if wait else "off"
    return ("-chardev", f"socket,id={name},path={path},server=on,wait={waiting}", "-serial", f"chardev:{name}")


def main() -> None:
    """Start a machine and keep it until Ctrl+C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpus", type=int, default=1, help="processors, at most 4")
    parser.add_argument("--memory", type=int, default=64, help="megabytes")
    parser.add_argument(
        "--base", type=lambda text: int(text, 0), default=KERNEL_BASE, help="load address of the kernel"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--accelerator", default="tcg,tb-size=32", help="tcg is mostly the faster one here")
    options = parser.parse_args()
    with Machine(
        cpus=options.cpus,
        memory=options.memory,
        base=options.base,
        seed=options.seed,
        accelerator=options.accelerator,
    ) as machine:
        machine.wait_ready()
        print(f"the guest runs; attach with:\n  kdive -b kd --connect {machine.kd} --sympath {LAB / 'images'}")
        print(f"commands for it go to {machine.folder / 'mailbox.sock'}; Ctrl+C ends it")
        with contextlib.suppress(KeyboardInterrupt):
            machine.process.wait()


if __name__ == "__main__":
    main()
