"""Looks whether everything that the bot needs is there, and says what to do about what is not."""
