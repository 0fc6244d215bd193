"""KD, the protocol between the Windows kernel and a debugger."""
