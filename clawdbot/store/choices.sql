-- What a conversation has chosen where there are several, such as its persona; without a row it has the default.
CREATE TABLE choice (
    conversation TEXT NOT NULL,         -- Conversation.key
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    PRIMARY KEY (conversation, kind)
) STRICT, WITHOUT ROWID;
