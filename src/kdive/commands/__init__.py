"""WinDbg commands, one file per family."""
