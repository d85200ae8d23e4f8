-- The messages that a question is made of, where it is not one alone: a text that a client cut, an album. One that was
-- removed says nothing and has no files any more.
CREATE TABLE piece (
    reply      INTEGER NOT NULL REFERENCES reply,
    number     INTEGER NOT NULL,        -- in the order of the text
    platform   TEXT NOT NULL,
    message_id TEXT NOT NULL,
    joint      TEXT NOT NULL,           -- what stands between it and the text before
    text       TEXT NOT NULL,
    files      INTEGER NOT NULL,        -- how many of those in `attached` came with it
    PRIMARY KEY (reply, number)
) STRICT, WITHOUT ROWID;

-- An edit says which message it is about.
CREATE INDEX piece_message ON piece (platform, message_id);
