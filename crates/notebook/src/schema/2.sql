-- Distributions of any kind: a new one is no new version.
CREATE TABLE histogram_2 (
    trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    kind     TEXT    NOT NULL CHECK (kind <> ''),
    count    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    -- Of the response times: what their samples are worth as independent ones, by percentile. NULL for other kinds.
    effective_json TEXT,
    PRIMARY KEY (trial_id, kind)
) STRICT;
INSERT INTO histogram_2 SELECT trial_id, kind, count, data, effective_json FROM histogram;
DROP TABLE histogram;
ALTER TABLE histogram_2 RENAME TO histogram;
