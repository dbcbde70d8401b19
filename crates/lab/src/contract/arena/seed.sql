-- Table of the contract arena. The same seed makes the same rows.

ALTER SYSTEM SET max_connections = 512;

CREATE TABLE items (
    id           integer PRIMARY KEY,
    name         text    NOT NULL,
    category     text    NOT NULL,
    price        integer NOT NULL,
    quantity     integer NOT NULL,
    active       boolean NOT NULL DEFAULT true,
    tags         text[]  NOT NULL DEFAULT '{}',
    rating_score integer NOT NULL DEFAULT 0,
    rating_count integer NOT NULL DEFAULT 0
);
INSERT INTO items (id, name, category, price, quantity, active, tags, rating_score, rating_count)
SELECT id,
       'Item ' || id,
       ('{art,books,cars,drinks,food,garden,home,music,sports,toys}'::text[])[1 + a % 10],
       1 + a / 10 % 1000,
       1 + b % 100,
       b % 3 > 0,
       ARRAY[('{new,sale,eco,limited}'::text[])[1 + a % 4], ('{fragile,heavy,small}'::text[])[1 + b % 3]],
       1 + b / 100 % 50,
       b / 1000 % 1000
FROM (
    SELECT id,
           (id * 48271::bigint * 16807 + 12345) % 2147483647 AS a,
           (id * 69621::bigint * 39373 + 54321) % 2147483647 AS b
    FROM generate_series(1, 100000) AS id
) AS drawn;
