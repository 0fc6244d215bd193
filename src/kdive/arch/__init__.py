"""Processor architectures: registers, page tables, unwind codes, instructions."""
