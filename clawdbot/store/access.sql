-- What was said about people while the bot ran (access.Ruling), beside the settings.
CREATE TABLE ruling (
    platform TEXT NOT NULL,
    person   INTEGER NOT NULL,
    ruling   TEXT NOT NULL,
    PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;

-- Codes that were made and not used yet; the codes themselves are stored nowhere.
CREATE TABLE pairing (
    digest   BLOB PRIMARY KEY,
    platform TEXT NOT NULL,
    maker    INTEGER NOT NULL,          -- the admin
    expires  REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Decisions about people, without a word of what they said.
CREATE TABLE audit (
    at           REAL NOT NULL,
    platform     TEXT NOT NULL,
    person       INTEGER NOT NULL,      -- whom it is about
    conversation TEXT NOT NULL,         -- Conversation.key
    decision     TEXT NOT NULL,
    reason       TEXT NOT NULL,
    maker        INTEGER                -- the admin who made it; null: the bot, by its settings
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_person ON audit (platform, person, decision, at);

-- What a person has asked lately.
CREATE INDEX reply_author ON reply (platform, author, received_at);
