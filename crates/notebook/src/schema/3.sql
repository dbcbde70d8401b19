-- Version 3: runs that were measured elsewhere and read back from a file. NULL for those of this notebook.

-- When it was read.
ALTER TABLE run ADD COLUMN imported TEXT;
-- Its number in the notebook that it comes from.
ALTER TABLE run ADD COLUMN imported_number INTEGER;
-- What the rig weighed there: this host's tares say nothing of it.
ALTER TABLE run ADD COLUMN imported_tare_json TEXT;
