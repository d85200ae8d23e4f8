-- Whose tokenizer made the tokens: its `Tokenizer.fingerprint`. Until now it was the last part of a model's name, which
-- is no fingerprint, so tokens of that time are made anew from their text.
ALTER TABLE reply RENAME COLUMN model TO tokenizer;
ALTER TABLE former RENAME COLUMN model TO tokenizer;
