"""The ARM64 (AArch64) architecture."""
