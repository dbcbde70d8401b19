-- Version 1. Times of day are RFC 3339 in UTC with microseconds, so that text order is time order.
-- Durations are nanoseconds. The columns ending in _json hold JSON text.

-- "PRNY": tells a notebook from any other SQLite file.
PRAGMA application_id = 1347571289;

CREATE TABLE run (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL,
    title           TEXT    NOT NULL,
    started         TEXT    NOT NULL,
    finished        TEXT,
    status          TEXT    NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
    -- Text, because a seed uses all 64 bits and an SQLite integer has a sign.
    seed            TEXT    NOT NULL,
    experiment_json TEXT    NOT NULL,
    host_json       TEXT    NOT NULL,
    prony_version   TEXT    NOT NULL,
    prony_commit    TEXT,
    command_line    TEXT    NOT NULL,
    -- In a sentence or two: what was found, or why it failed. NULL while it is under way.
    result          TEXT,
    -- Of a run that was measured elsewhere and read back from a file, NULL for others: when it was read, its number in the
    -- notebook that it comes from, and the calibration of the rig there.
    imported                  TEXT,
    imported_number           INTEGER,
    imported_calibration_json TEXT,
    -- Who writes this run. A process is known by its boot, its id and its start, since ids recur.
    pid             INTEGER NOT NULL,
    boot_id         TEXT    NOT NULL,
    pid_start_ticks INTEGER NOT NULL
) STRICT;

CREATE INDEX run_by_name ON run (name, id);
CREATE INDEX run_unfinished ON run (id) WHERE status = 'running';

CREATE TABLE trial (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id             INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal            INTEGER NOT NULL,
    round              INTEGER NOT NULL,
    server             TEXT    NOT NULL,
    workers            INTEGER,
    load_json          TEXT    NOT NULL,
    cell               TEXT    NOT NULL,
    status             TEXT    NOT NULL CHECK (status IN ('ok', 'failed', 'skipped', 'interrupted')),
    failed_step        TEXT,
    message            TEXT,
    last_output        TEXT,
    started            TEXT    NOT NULL,
    command_line       TEXT    NOT NULL,
    server_version     TEXT,
    measured_seconds   REAL,
    verified_answers   INTEGER,
    throughput         REAL,
    cpu_ns_per_request REAL,
    rss_peak_bytes     INTEGER,
    p50_ns             INTEGER,
    p99_ns             INTEGER,
    max_ns             INTEGER,
    observation_json   TEXT    NOT NULL,
    UNIQUE (run_id, ordinal)
) STRICT;

CREATE INDEX trial_by_cell ON trial (run_id, cell, round);

CREATE TABLE window (
    trial_id         INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    "index"          INTEGER NOT NULL,
    start_ns         INTEGER NOT NULL,
    length_ns        INTEGER NOT NULL,
    phase            TEXT    NOT NULL CHECK (phase IN ('warmup', 'measure')),
    verified_answers INTEGER NOT NULL,
    wrong_answers    INTEGER NOT NULL,
    errors           INTEGER NOT NULL,
    timeouts         INTEGER NOT NULL,
    p50_ns           INTEGER,
    p99_ns           INTEGER,
    server_cpu_ns    INTEGER,
    generator_cpu_ns INTEGER,
    rss_bytes        INTEGER,
    PRIMARY KEY (trial_id, "index")
) STRICT, WITHOUT ROWID;

CREATE TABLE histogram (
    trial_id INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    kind     TEXT    NOT NULL
        CHECK (kind IN ('response', 'service', 'send-delay', 'connect', 'handshake', 'late')),
    count    INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    -- Of the response times: what their samples are worth as independent ones, by percentile. NULL for other kinds.
    effective_json TEXT,
    PRIMARY KEY (trial_id, kind)
) STRICT;

-- The anatomy of a request.
CREATE TABLE anatomy (
    run_id INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    -- What the rounds of --why have shown: JSON, compressed with gzip.
    data   BLOB NOT NULL
) STRICT;

-- Figures that others have published. A name stands for the figures put in last; runs keep their own copy of what they were
-- compared with.
CREATE TABLE published (
    name         TEXT PRIMARY KEY NOT NULL,
    imported     TEXT NOT NULL,
    -- The command line that put them in.
    command_line TEXT NOT NULL,
    table_json   TEXT NOT NULL
) STRICT;
