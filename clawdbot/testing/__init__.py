"""Test doubles that ship: a clock that is turned by hand, a scripted engine, local servers that behave like the platforms."""
