"""Renderers of results as text, one module per family of results."""
