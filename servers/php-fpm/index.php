<?php
// The techempower contract in plain PHP: PDO with a persistent connection per process, APCu for
// the cached rows, and a PHP file as the template.
declare(strict_types=1);

const WORLDS = 10_000;

function database(): PDO
{
    $url = parse_url(getenv('DATABASE_URL'));
    $name = ltrim($url['path'], '/');
    return new PDO(
        "pgsql:host=$url[host];port=$url[port];dbname=$name",
        urldecode($url['user']),
        urldecode($url['pass']),
        [PDO::ATTR_PERSISTENT => true, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC],
    );
}

/** The parameter within 1 and 500; 1 when it is not a number. */
function number(string $parameter): int
{
    $text = $_GET[$parameter] ?? '';
    return is_string($text) ? max(1, min(500, (int) $text)) : 1;
}

/** @return list<int> distinct ids, ascending */
function randomIds(int $count): array
{
    $ids = [];
    while (count($ids) < $count) {
        $ids[mt_rand(1, WORLDS)] = true;
    }
    ksort($ids);
    return array_keys($ids);
}

/** @return list<array{id: int, randomNumber: int}> rows, each selected by a statement of its own */
function worlds(PDO $database, int $count): array
{
    $select = $database->prepare('SELECT id, randomnumber AS "randomNumber" FROM world WHERE id = ?');
    $rows = [];
    foreach (randomIds($count) as $id) {
        $select->execute([$id]);
        $rows[] = $select->fetch();
    }
    return $rows;
}

/** @return list<array{id: int, randomNumber: int}> the same rows, with new numbers */
function updated(int $count): array
{
    $database = database();
    $rows = worlds($database, $count);
    foreach ($rows as &$row) {
        $row['randomNumber'] = mt_rand(1, WORLDS);
    }
    unset($row);
    $array = fn(string $column): string => '{' . implode(',', array_column($rows, $column)) . '}';
    // The planner keeps the order of the arrays, so that rows are locked by ascending id.
    $database->prepare(
        'UPDATE world SET randomnumber = new.number
         FROM unnest(?::int[], ?::int[]) AS new (id, number) WHERE world.id = new.id'
    )->execute([$array('id'), $array('randomNumber')]);
    return $rows;
}

/** @return list<array{id: int, randomNumber: int}> rows out of the memory that all processes share */
function cachedWorlds(int $count): array
{
    if (!apcu_exists('worlds')) {
        foreach (database()->query('SELECT id, randomnumber AS "randomNumber" FROM cachedworld') as $row) {
            apcu_store("world$row[id]", $row);
        }
        apcu_store('worlds', true);
    }
    $keys = array_map(fn(): string => 'world' . mt_rand(1, WORLDS), range(1, $count));
    $rows = apcu_fetch($keys);
    return array_map(fn(string $key): array => $rows[$key], $keys);
}

function fortunes(): void
{
    $fortunes = database()->query('SELECT id, message FROM fortune')->fetchAll();
    $fortunes[] = ['id' => 0, 'message' => 'Additional fortune added at request time.'];
    usort($fortunes, fn(array $a, array $b): int => strcmp($a['message'], $b['message']));
    header('Content-Type: text/html; charset=utf-8');
    require 'fortunes.php';
}

function json(array $value): void
{
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR);
}

function plaintext(): void
{
    header('Content-Type: text/plain; charset=utf-8');
    echo 'Hello, World!';
}

// PHP answers an exception that nobody catches with 500.
match ($_SERVER['DOCUMENT_URI']) {
    '/json' => json(['message' => 'Hello, World!']),
    '/plaintext' => plaintext(),
    '/db' => json(worlds(database(), 1)[0]),
    '/queries' => json(worlds(database(), number('queries'))),
    '/fortunes' => fortunes(),
    '/updates' => json(updated(number('queries'))),
    '/cached-queries' => json(cachedWorlds(number('count'))),
    default => http_response_code(404),
};
