-- What is on the screen while an answer grows. Its text so far lies in the columns of the answer, with the state
-- "streaming", and `begun` counts the messages whose posting was begun: one of them without a row in `post` may be on
-- the platform, or may not.
ALTER TABLE reply ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;

-- A control below a message says which message it is, and nothing else.
CREATE INDEX post_ref ON post (ref);
