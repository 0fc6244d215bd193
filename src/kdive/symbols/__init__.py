"""Symbol files, symbol stores, types."""
