-- Version 2: figures that others have published, put in by name. A name stands for the figures put in
-- last; runs keep their own copy of what they were compared with.

CREATE TABLE published (
    name         TEXT PRIMARY KEY NOT NULL,
    imported     TEXT NOT NULL,
    -- The command line that put them in.
    command_line TEXT NOT NULL,
    table_json   TEXT NOT NULL
) STRICT;
