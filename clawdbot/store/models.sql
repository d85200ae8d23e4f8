-- Which of several models made an answer, as people call it; '' where that was not noted.
ALTER TABLE timing ADD COLUMN model TEXT NOT NULL DEFAULT '';
