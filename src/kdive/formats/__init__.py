"""File formats as parsers over buffers."""
