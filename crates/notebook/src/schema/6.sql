-- Version 6: the handshakes of TLS have a distribution of their own.

-- A CHECK cannot be changed in place.
CREATE TABLE histogram_6 (
    trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    kind     TEXT    NOT NULL
        CHECK (kind IN ('response', 'service', 'send-delay', 'connect', 'handshake', 'late')),
    count    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    -- Of the response times: what their samples are worth as independent ones, by percentile. NULL for
    -- other kinds, and for what earlier versions wrote.
    effective_json TEXT,
    PRIMARY KEY (trial_id, kind)
) STRICT;
INSERT INTO histogram_6 (trial_id, kind, count, data, effective_json)
    SELECT trial_id, kind, count, data, effective_json FROM histogram ORDER BY rowid;
DROP TABLE histogram;
ALTER TABLE histogram_6 RENAME TO histogram;
