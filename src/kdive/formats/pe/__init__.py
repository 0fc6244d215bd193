"""Portable Executable images."""
