"""Renderers of command results."""
