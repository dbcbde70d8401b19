-- Version 7: the anatomy of a request.

CREATE TABLE anatomy (
    run_id INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    -- What the rounds of --why have shown: JSON, compressed with gzip.
    data   BLOB NOT NULL
) STRICT;
