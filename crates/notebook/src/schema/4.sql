-- Version 4: the words of later versions. What was a tare is a calibration, and lag is the send delay.

UPDATE run SET name = 'calibrate' WHERE name = 'tare';
ALTER TABLE run RENAME COLUMN imported_tare_json TO imported_calibration_json;

-- A CHECK cannot be changed in place.
CREATE TABLE histogram_4 (
    trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    kind     TEXT    NOT NULL CHECK (kind IN ('response', 'service', 'send-delay', 'connect', 'late')),
    count    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    PRIMARY KEY (trial_id, kind)
) STRICT;
INSERT INTO histogram_4 (trial_id, kind, count, data)
    SELECT trial_id, replace(kind, 'lag', 'send-delay'), count, data FROM histogram ORDER BY rowid;
DROP TABLE histogram;
ALTER TABLE histogram_4 RENAME TO histogram;
