-- One row a question, with its answer: a reply is pending from the moment its question is stored until `finished_at`.
-- Its two sides are turns `2 * id` and `2 * id + 1` of the conversation, so an id is never used twice.
CREATE TABLE reply (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation    TEXT NOT NULL,      -- Conversation.key
    platform        TEXT NOT NULL,
    chat            INTEGER NOT NULL,
    topic           INTEGER NOT NULL,
    private         INTEGER NOT NULL,
    guild           INTEGER NOT NULL,
    message_id      TEXT NOT NULL,
    author          INTEGER NOT NULL,
    author_name     TEXT NOT NULL,
    question        TEXT NOT NULL,
    received_at     REAL NOT NULL,      -- seconds since the epoch, as all times here
    sent_at         REAL,               -- by the platform's clock
    reply_ref       TEXT NOT NULL,      -- Reply.ref
    state           TEXT NOT NULL DEFAULT 'asked',  -- then that of the answer (chat.State)
    answer          TEXT,               -- null until the engine is done
    model           TEXT,               -- whose tokenizer made the tokens
    question_tokens BLOB,               -- unsigned 32-bit numbers
    answer_tokens   BLOB,
    finished_at     REAL                -- null until the platform has acknowledged the last frame
) STRICT;
CREATE INDEX reply_history ON reply (conversation, id) WHERE finished_at IS NOT NULL;
CREATE INDEX reply_pending ON reply (id) WHERE finished_at IS NULL;

-- The platform's messages that an answer has been given so far.
CREATE TABLE post (
    reply INTEGER NOT NULL REFERENCES reply,
    part  INTEGER NOT NULL,
    ref   TEXT NOT NULL,                -- Post.ref
    PRIMARY KEY (reply, part)
) STRICT, WITHOUT ROWID;

-- Where a conversation's history begins.
CREATE TABLE conversation (
    key        TEXT PRIMARY KEY,
    first_turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events that were taken in, so that one that is delivered again is recognised.
CREATE TABLE event (
    platform TEXT NOT NULL,
    id       TEXT NOT NULL,
    at       REAL NOT NULL,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_at ON event (at);

-- Strangers who have had their one refusal.
CREATE TABLE refusal (
    platform TEXT NOT NULL,
    person   INTEGER NOT NULL,
    PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;

-- latency.Timing, field by field; marks in seconds after `at`.
CREATE TABLE timing (
    reply          INTEGER PRIMARY KEY REFERENCES reply,
    platform       TEXT NOT NULL,
    conversation   TEXT NOT NULL,
    at             REAL NOT NULL,
    platform_delay REAL,
    admitted       REAL,
    queued         REAL,
    scheduled      REAL,
    first_token    REAL,
    showable       REAL,
    first_visible  REAL,
    last_token     REAL,
    complete       REAL NOT NULL,
    prompt_tokens  INTEGER NOT NULL,
    cached_tokens  INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    state          TEXT NOT NULL
) STRICT;
CREATE INDEX timing_at ON timing (at);
