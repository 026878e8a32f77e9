/** The least that a client does: asks for each of these answers with undici and parses it. Prints what that took. */
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import type { Exchange } from './service.ts';

/** As many as the product has under way. */
const parallel = 4;

const [base = '', file = ''] = process.argv.slice(2);
const exchanges = JSON.parse(readFileSync(file, 'utf8')) as Exchange[];
const pool = new Pool(base, { connections: parallel, headersTimeout: 0 });
const cpuBefore = process.cpuUsage();
const began = performance.now();
let bytes = 0;
const rest = exchanges.values();
const work = async () => {
  for (const { method, path, body } of rest) {
    const answer = await pool.request({
      method: method as 'GET',
      path,
      body: body === '' ? null : body,
      headers: { 'content-type': 'application/json' },
      reset: false,
    });
    const text = await answer.body.text();
    bytes += text.length;
    JSON.parse(text);
  }
};
await Promise.all(Array.from({ length: parallel }, work));
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpuBefore);
await pool.close();
process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000, bytes }));
