"""Dumps of our own: built byte by byte, for tests and for trying kdive out."""
