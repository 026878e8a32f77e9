/**
 * Asks for all users by the product's client and by undici alone, in turns: what the client takes longer is for parsing
 * and decoding. Prints it beside the CPU time of JSON.parse of the same text.
 */
import { Pool } from 'undici';
import { createLog } from '../src/log.ts';
import { createService } from '../src/runs/open-service.ts';
import { configOf } from './in-process.ts';

const environment = Object.fromEntries(
  Object.entries(process.env).map(([name, value]) => [name, value ?? '']),
);
const config = configOf(environment);
const client = createService(config, 'read-only', { log: createLog({ level: 'silent' }), pace: null });
const pool = new Pool(config.service.baseUrl ?? '', { connections: 1 });

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const everybody = { emails: [], phones: [] };
const fetchText = async () => {
  const headers = { 'content-type': 'application/json' };
  const answer = await pool.request({
    method: 'GET',
    path: '/v1/users/get',
    headers,
    body: '{}',
    reset: false,
  });
  return await answer.body.text();
};
const took: { parse: number[]; decode: number[] } = { parse: [], decode: [] };
for (let turn = 0; turn < 12; turn += 1) {
  const whole = await cpuMs(() => client.users(everybody));
  let text = '';
  const fetched = await cpuMs(async () => {
    text = await fetchText();
  });
  const parse = await cpuMs(async () => JSON.parse(text));
  const decode = whole - fetched;
  // The first few turns are not compiled yet.
  if (turn < 4) continue;
  took.decode.push(decode);
  took.parse.push(parse);
}
await client.close();
await pool.close();
process.stdout.write(JSON.stringify(took));
