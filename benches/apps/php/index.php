<?php
// A menu through Twig, which Debian's php-twig has, under PHP's built-in server: it runs this file for each request.
declare(strict_types=1);

require 'Twig/autoload.php';

/** CPU time of this process in microseconds; each has one thread. */
function used(): float
{
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1e6
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
}

// Burns PLANT_US microseconds of it.
$plant = (float) getenv('PLANT_US');
for ($end = used() + $plant; $plant > 0 && used() < $end;) {
}

$dishes = [];
for ($n = 0; $n < 40; $n++) {
    $dishes[] = ['name' => "Dish $n", 'cents' => 500 + $n * 137 % 1500, 'vegan' => $n % 4 === 0];
}
$only = isset($_GET['vegan']) ? array_filter($dishes, fn ($dish) => $dish['vegan']) : $dishes;

$twig = new Twig\Environment(
    new Twig\Loader\FilesystemLoader(__DIR__ . '/views'),
    ['cache' => getcwd() . '/twig', 'auto_reload' => false],
);
echo $twig->render('menu.twig', ['dishes' => $only]);
