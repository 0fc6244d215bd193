"""Protocols as pure state machines over bytes: no sockets, no threads, no clocks."""
