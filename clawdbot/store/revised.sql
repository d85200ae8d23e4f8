-- When an answer was last asked for anew: by an edit of its question, or by somebody who wanted another one.
ALTER TABLE reply ADD COLUMN revised_at REAL;

-- Since when an exchange is forgotten: it stays on the screen and is in no prompt any more.
ALTER TABLE reply ADD COLUMN forgotten_at REAL;

-- An edit says which message it is about.
CREATE INDEX reply_message ON reply (platform, message_id);

-- While an answer is being written anew: the exchange as it was, which stays in the history until then and comes back
-- when there will be no other.
CREATE TABLE former (
    reply           INTEGER PRIMARY KEY REFERENCES reply,
    question        TEXT NOT NULL,
    state           TEXT NOT NULL,
    answer          TEXT NOT NULL,
    model           TEXT NOT NULL,
    question_tokens BLOB,
    answer_tokens   BLOB
) STRICT;

-- Answers that were asked for anew, and by whom: each counts as a question of theirs.
CREATE TABLE revision (
    id       INTEGER PRIMARY KEY,
    reply    INTEGER NOT NULL REFERENCES reply,
    platform TEXT NOT NULL,
    person   INTEGER NOT NULL,
    at       REAL NOT NULL,
    tokens   INTEGER NOT NULL DEFAULT 0     -- what the engine had to read or wrote, once that is known
) STRICT;
CREATE INDEX revision_reply ON revision (reply);
CREATE INDEX revision_person ON revision (platform, person, at);
CREATE INDEX revision_at ON revision (at);
