-- A start asks who may not be called yet. Few replies ever were told to wait for long: an index of those alone costs
-- the others nothing.
CREATE INDEX reply_held ON reply (held_until) WHERE held_until IS NOT NULL;
