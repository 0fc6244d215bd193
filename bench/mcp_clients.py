"""MCP clients written by hand, so that no client library is measured."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from typing import Any

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Stdio:
    """A server process, spoken to over its standard streams."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self._number = 0

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        while True:
            answer = json.loads(stdout.readline())
            if answer.get("id") == self._number:
                if "result" not in answer:
                    sys.exit(f"{method} {parameters}: {answer['error']}")
                return answer["result"]

    def initialize(self) -> None:
        self.ask("initialize", INITIALIZE)
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


class Http:
    """A server process, spoken to over one HTTP connection."""

    def __init__(self, command: list[str], port: int, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._number = 0
        deadline = time.monotonic() + 30
        while True:
            self._connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                self._connection.connect()
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        answer = self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        lines = [line for line in answer.splitlines() if line.startswith(("data: {", "{"))]
        return json.loads(lines[-1].removeprefix("data: "))["result"]

    def _post(self, message: dict[str, Any]) -> str:
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._connection.getresponse()
        session = response.getheader("mcp-session-id")
        if session:
            self._headers["Mcp-Session-Id"] = session
        return response.read().decode()

    def initialize(self) -> None:
        self.ask("initialize", INITIALIZE)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait(20)
