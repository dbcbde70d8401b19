-- Version 4: the words of later versions. What was a tare is a calibration, and lag is the send delay.

UPDATE run SET name = 'calibrate' WHERE name = 'tare';
ALTER TABLE run RENAME COLUMN imported_tare_json TO imported_calibration_json;

-- A CHECK cannot be changed in place.
CREATE TABLE histogram_4 (
    trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    kind     TEXT    NOT NULL CHECK (kind IN ('response', 'service', 'send-delay', 'connect', 'late')),
    count    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    -- Of the response times: what their samples are worth as independent ones, by percentile. NULL for
    -- other kinds, and for what earlier versions wrote.
    effective_json TEXT,
    PRIMARY KEY (trial_id, kind)
) STRICT;
INSERT INTO histogram_4 (trial_id, kind, count, data)
    SELECT trial_id, replace(kind, 'lag', 'send-delay'), count, data FROM histogram ORDER BY rowid;
DROP TABLE histogram;
ALTER TABLE histogram_4 RENAME TO histogram;

-- Steps are one word.
UPDATE trial SET failed_step = CASE failed_step
        WHEN 'get ready' THEN 'ready'
        WHEN 'verification' THEN 'verify'
        WHEN 'verification after the load' THEN 'verify-again'
        ELSE failed_step
    END
    WHERE failed_step IS NOT NULL;

-- It was always null.
ALTER TABLE window DROP COLUMN more_json;
