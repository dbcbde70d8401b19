-- Tables of the contract techempower. The same seed makes the same rows.

ALTER SYSTEM SET max_connections = 512;

CREATE TABLE world (
    id           integer PRIMARY KEY,
    randomnumber integer NOT NULL
);
INSERT INTO world (id, randomnumber)
SELECT id, 1 + (id * 48271::bigint * 16807 + 12345) % 2147483647 % 10000
FROM generate_series(1, 10000) AS id;

CREATE TABLE cachedworld (
    id           integer PRIMARY KEY,
    randomnumber integer NOT NULL
);
INSERT INTO cachedworld (id, randomnumber)
SELECT id, 1 + (id * 69621::bigint * 39373 + 54321) % 2147483647 % 10000
FROM generate_series(1, 10000) AS id;

CREATE TABLE fortune (
    id      integer PRIMARY KEY,
    message varchar(2048) NOT NULL
);
INSERT INTO fortune (id, message) VALUES
    (1, 'Measure first; opinions are cheaper but cost more.'),
    (2, 'A cache hides two bugs: the slow one and the stale one.'),
    (3, 'Every queue is short until Monday.'),
    (4, 'The fastest request is the one that nobody sends.'),
    (5, 'Undefined behaviour is a promise to surprise you later.'),
    (6, 'Benchmarks do not lie, but they answer only what was asked.'),
    (7, 'Locks are for sharing; the best shared thing is nothing.'),
    (8, 'Read the error message twice before you fix it once.'),
    (9, 'Computers do what we say, which is rarely what we mean.'),
    (10, 'Garbage in, garbage out, garbage collected.'),
    (11, '<script>alert("A page that shows this box has not escaped its text.");</script>'),
    (12, '速さは正しさの後に測る');
