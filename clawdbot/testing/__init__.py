"""Test doubles that ship: a clock turned by hand, a scripted engine, local servers that behave like the platforms."""
