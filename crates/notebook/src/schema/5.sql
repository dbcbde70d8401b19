-- Version 5: lists of runs say what came of each.

-- In a sentence or two: what was found, or why it failed. NULL while it is under way, and for what earlier versions
-- wrote.
ALTER TABLE run ADD COLUMN result TEXT;
