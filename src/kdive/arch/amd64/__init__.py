"""The AMD64 (x64) architecture."""
