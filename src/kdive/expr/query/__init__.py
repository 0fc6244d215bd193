"""Queries: C++ expressions that also know the debugger's objects, methods and lambdas, as ``dx`` takes them."""
