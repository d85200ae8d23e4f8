-- How many questions it counts as; 0: nothing was asked, an answer went on or was cut short, and only its tokens count.
ALTER TABLE revision ADD COLUMN questions INTEGER NOT NULL DEFAULT 1;

-- Whether the question counts in no quota: it got no answer before it was asked anew, and that counts.
ALTER TABLE reply ADD COLUMN free INTEGER NOT NULL DEFAULT 0;

-- Tokens of the answer that is being written, as far as they were noted and are counted nowhere else yet.
ALTER TABLE reply ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
