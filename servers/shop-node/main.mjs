// A small JSON shop on node:http: a page, items, a search, a login and orders.
// `node main.mjs HOST PORT [WORKERS]`
import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { items, search, whole } from './items.mjs';
import { tokenOf, userOf } from './tokens.mjs';

const PAGE = `<!doctype html>
<html lang="en">
<title>Shop</title>
<h1>Shop</h1>
<p>A thousand items: <a href="/items">all of them</a>.
`;

// A longer body is refused.
const MOST_BYTES = 64 << 10;
// A list has at most this many items.
const MOST_ITEMS = 100;

const ROUTES = {
  'GET /': home,
  'GET /items': list,
  'GET /search': find,
  'POST /login': login,
  'POST /orders': order,
};

function handle(request, response) {
  const at = request.url.indexOf('?');
  const path = at < 0 ? request.url : request.url.slice(0, at);
  // Answers to HEAD are those to GET; http leaves their bodies out.
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const query = () => new URLSearchParams(at < 0 ? '' : request.url.slice(at));
  const route = ROUTES[`${method} ${path}`];
  if (route) {
    route(request, response, query);
  } else if (method === 'GET' && path.startsWith('/items/')) {
    one(path.slice('/items/'.length), response);
  } else {
    refuse(response, 404, 'there is no such page');
  }
}

function answer(response, status, value, more = {}) {
  const body = Buffer.from(JSON.stringify(value) + '\n');
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length, ...more });
  response.end(body);
}

function refuse(response, status, error, more) {
  answer(response, status, { error }, more);
}

/** Reads a JSON object and passes it on; if the body is none, the answer says so. */
function read(request, response, use) {
  const pieces = [];
  let length = 0;
  request.on('data', (piece) => {
    length += piece.length;
    if (length <= MOST_BYTES) pieces.push(piece);
  });
  request.on('end', () => {
    if (length > MOST_BYTES) return refuse(response, 413, 'the body is too long');
    let value;
    try {
      value = JSON.parse(Buffer.concat(pieces).toString());
    } catch {
      value = null;
    }
    if (value === null || typeof value !== 'object') {
      return refuse(response, 400, 'the body is not the JSON that is expected');
    }
    use(value);
  });
}

function home(_request, response) {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': PAGE.length });
  response.end(PAGE);
}

// GET /items?offset=40&limit=20
function list(_request, response, query) {
  const asked = query();
  const offset = whole(asked.get('offset') || '0', 0, items.length);
  const limit = whole(asked.get('limit') || '20', 1, MOST_ITEMS);
  if (offset === null || limit === null) {
    return refuse(response, 400, 'offset or limit is not a number in range');
  }
  answer(response, 200, { total: items.length, offset, items: items.slice(offset, offset + limit) });
}

// GET /items/17
function one(text, response) {
  const id = whole(text, 0, items.length - 1);
  if (id === null) return refuse(response, 404, 'there is no such item');
  answer(response, 200, items[id]);
}

// GET /search?q=lamp
function find(_request, response, query) {
  const q = query().get('q');
  if (!q) return refuse(response, 400, 'q says what is searched for');
  answer(response, 200, { q, ...search(q) });
}

// POST /login {"user": "ann"}
function login(request, response) {
  read(request, response, ({ user }) => {
    if (typeof user !== 'string' || user === '') {
      return refuse(response, 400, 'user says who logs in');
    }
    const token = tokenOf(user);
    answer(response, 200, { user, token }, { 'Set-Cookie': `shop=${token}; Path=/; HttpOnly` });
  });
}

// POST /orders {"item": 17, "quantity": 2}
function order(request, response) {
  const user = userOf(request.headers.authorization);
  // The body is read whatever the answer is: the next request stands behind it.
  if (user === null) {
    request.resume();
    return refuse(response, 401, 'log in first', { 'WWW-Authenticate': 'Bearer' });
  }
  read(request, response, ({ item, quantity }) => {
    const good = Number.isInteger(item) && item in items && Number.isInteger(quantity) && quantity >= 1 && quantity <= 100;
    if (!good) return refuse(response, 400, 'item or quantity is not a number in range');
    const number = randomBytes(8).toString('hex');
    const total = items[item].price * quantity;
    const made = { ok: true, order: number, user, item, quantity, total };
    answer(response, 201, made, { Location: `/orders/${number}` });
  });
}

const [host, ...numbers] = process.argv.slice(2);
const [port, workers = 1] = numbers.map(Number);
if (!(port >= 1 && port <= 65535 && workers >= 1)) {
  console.error('usage: node main.mjs HOST PORT [WORKERS]');
  process.exit(2);
}
if (workers > 1 && cluster.isPrimary) {
  // The primary accepts and hands connections out in turn. When a worker fails, so does the whole.
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    process.exit(code || 1);
  });
} else {
  // Idle connections stay open: at a low rate, a time-out would look like a failure.
  const server = http.createServer({ keepAliveTimeout: 0 }, handle);
  server.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  server.listen({ host, port, backlog: 4096 });
}
