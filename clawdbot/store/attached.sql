-- What came with a question, as JSON: a list of {name, media, size, ref, text}; text is null until it was read.
ALTER TABLE reply ADD COLUMN attached TEXT;
