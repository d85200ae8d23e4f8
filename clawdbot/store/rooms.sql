-- Whose the conversation is (Conversation.person); 0: it belongs to all who are there.
ALTER TABLE reply ADD COLUMN person INTEGER NOT NULL DEFAULT 0;

-- What the question replies to (chat.Quoted); null when that says nothing new.
ALTER TABLE reply ADD COLUMN quoted TEXT;
ALTER TABLE reply ADD COLUMN quoted_name TEXT;
ALTER TABLE reply ADD COLUMN quoted_own INTEGER;
