"""The Windows NT model over typed memory."""
