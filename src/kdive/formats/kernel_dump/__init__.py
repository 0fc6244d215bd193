"""Windows kernel crash dumps."""
