-- Whether the exchange was forgotten before its answer was written anew, which brings it back to mind.
ALTER TABLE former ADD COLUMN forgotten_at REAL;
