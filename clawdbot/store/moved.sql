-- Chats that have another number now, for settings that name the old one.
CREATE TABLE moved (
    platform TEXT NOT NULL,
    chat     INTEGER NOT NULL,
    now      INTEGER NOT NULL,
    PRIMARY KEY (platform, chat)
) STRICT, WITHOUT ROWID;
