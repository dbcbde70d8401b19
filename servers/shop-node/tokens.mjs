import { createHmac, timingSafeEqual } from 'node:crypto';

// Tokens are derived from the user, so that nothing has to be kept of who has logged in. An example's secret is
// none: the files of requests contain tokens that were made with it.
const SECRET = "prony's shop";

function sign(user) {
  return createHmac('sha256', SECRET).update(user).digest('hex').slice(0, 32);
}

/** The name in hexadecimal digits, a dot, and its signature. */
export function tokenOf(user) {
  return `${Buffer.from(user).toString('hex')}.${sign(user)}`;
}

/** The user whose token stands in an Authorization field, or null. */
export function userOf(authorization = '') {
  const match = /^Bearer ((?:[0-9a-f]{2})+)\.([0-9a-f]{32})$/.exec(authorization);
  if (!match) return null;
  const user = Buffer.from(match[1], 'hex').toString();
  return timingSafeEqual(Buffer.from(match[2]), Buffer.from(sign(user))) ? user : null;
}
