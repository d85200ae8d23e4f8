-- Where a conversation's history begins for one model, as people call it: what lies before did not fit beside the rest.
-- What `conversation` says holds for all models.
CREATE TABLE trimming (
    conversation TEXT NOT NULL,
    model        TEXT NOT NULL,
    first_turn   INTEGER NOT NULL,
    PRIMARY KEY (conversation, model)
) STRICT, WITHOUT ROWID;
