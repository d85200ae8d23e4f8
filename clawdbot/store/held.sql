-- Until when the platform has asked the bot not to call it for this reply: a start must not ask again before.
ALTER TABLE reply ADD COLUMN held_until REAL;
