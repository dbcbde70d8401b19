#!/usr/bin/env perl
# The techempower contract on Mojolicious, Mojo::Pg and its embedded Perl templates. Each process
# has one connection to the database, over which it waits for results.
use Mojolicious::Lite -signatures;
use Mojo::Pg;
use List::Util qw(max min);

use constant WORLDS => 10_000;

my $select = 'SELECT id, randomnumber AS "randomNumber" FROM';

# The planner keeps the order of the arrays, so that rows are locked by ascending id.
my $update = <<~'SQL';
  UPDATE world SET randomnumber = new.number
  FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id
  SQL

# Connects when a connection is first needed.
helper pg => sub { state $pg = Mojo::Pg->new($ENV{DATABASE_URL}) };

helper cached => sub ($c) { state $rows = $c->pg->db->query("$select cachedworld")->hashes };

# The parameter within 1 and 500; 1 when it is not a number.
helper number => sub ($c, $name) {
  my ($number) = ($c->param($name) // '') =~ /^(-?\d+)/;
  return max 1, min 500, $number // 1;
};

sub random_id { 1 + int rand WORLDS }

sub random_ids ($count) {
  my %ids;
  $ids{random_id()} = 1 while keys %ids < $count;
  return keys %ids;
}

# Rows, each selected by a statement of its own.
helper worlds => sub ($c, @ids) {
  my $db = $c->pg->db;
  return [map { $db->query("$select world WHERE id = ?", $_)->hash } @ids];
};

# Mojolicious sets Date.
hook before_dispatch => sub ($c) { $c->res->headers->server('Mojolicious') };

get '/json' => sub ($c) { $c->render(json => {message => 'Hello, World!'}) };

get '/plaintext' => sub ($c) {
  $c->res->headers->content_type('text/plain');
  $c->render(data => 'Hello, World!');
};

get '/db' => sub ($c) { $c->render(json => $c->worlds(random_id())->[0]) };

get '/queries' => sub ($c) { $c->render(json => $c->worlds(random_ids($c->number('queries')))) };

get '/fortunes' => sub ($c) {
  my $fortunes = $c->pg->db->query('SELECT id, message FROM fortune')->hashes;
  push @$fortunes, {id => 0, message => 'Additional fortune added at request time.'};
  $c->res->headers->content_type('text/html; charset=utf-8');
  $c->render(template => 'fortunes', fortunes => [sort { $a->{message} cmp $b->{message} } @$fortunes]);
};

get '/updates' => sub ($c) {
  my $rows = $c->worlds(sort { $a <=> $b } random_ids($c->number('queries')));
  $_->{randomNumber} = random_id() for @$rows;
  $c->pg->db->query($update, [map { $_->{id} } @$rows], [map { $_->{randomNumber} } @$rows]);
  $c->render(json => $rows);
};

get '/cached-queries' => sub ($c) {
  my $rows = $c->cached;
  $c->render(json => [map { $rows->[rand @$rows] } 1 .. $c->number('count')]);
};

app->log->level('error');
app->start;
