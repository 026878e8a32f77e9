// Reads a team, its tags and one user with Node's own modules: node client.mjs robin@example.com
import { createHmac } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';

const { MUSTERD_BASE_URL: baseUrl, MUSTERD_SECRET_ID: id, MUSTERD_SECRET_KEY: key } = process.env;

/** A token is good for five minutes. */
function token() {
  const parts = [
    { alg: 'HS256', typ: 'JWT' },
    { iss: id, iat: Math.floor(Date.now() / 1000) },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${createHmac('sha256', `${id}||${key}`).update(signed).digest('base64url')}`;
}

/** The answer; any status but 200 is an error. `fetch` sends no body with a GET, so this is not made with it. */
async function call(method, path, body) {
  const { request } = baseUrl.startsWith('https:') ? https : http;
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token()}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  const answer = await new Promise((resolve, reject) => {
    request(`${baseUrl}${path}`, { method, headers, timeout: 60_000 }, resolve).on('error', reject).end(text);
  });
  answer.setEncoding('utf8');
  const received = (await answer.toArray()).join('');
  if (answer.statusCode === 200) return JSON.parse(received);
  const why = Object.entries(answer.headers).filter(([name]) => name.startsWith('x-'));
  const lines = why.map(([name, value]) => `\n${name}: ${value}`);
  throw new Error(`${method} ${path}: ${answer.statusCode} ${received}${lines.join('')}`);
}

/** All rows, each once. Pages end with an empty one: a short page proves nothing. */
async function pages(path) {
  const rows = new Map();
  for (let page = 0; ; page += 1) {
    const found = await call('POST', path, { limit: 100, page });
    if (found.length === 0) return [...rows.values()];
    for (const row of found) rows.set(row.id, row);
  }
}

const say = (line) => process.stdout.write(`${line}\n`);
const team = await call('GET', '/v1/team');
say(`team ${team.id} ${team.name}, ${team.members.length} members`);
say(`${(await pages('/v1/tags')).length} tags`);
const { memberships } = await call('GET', '/v1/users/get', { email: [process.argv[2]] });
for (const user of memberships) say(`user ${user.id} ${user.name}`);
