/** Sends as much as the limit lets it, for so many seconds. Its environment names the database and the service. */
import { createLog } from '../src/log.ts';
import { createDatabase } from '../src/mirror/db/database.ts';
import { createService, sharePace } from '../src/runs/open-service.ts';
import { configOf } from './in-process.ts';

const [seconds = '10'] = process.argv.slice(2);
const db = createDatabase({ url: process.env['DATABASE_URL'] ?? '', applicationName: 'musterd bench' });
const environment = Object.fromEntries(
  Object.entries(process.env).map(([name, value]) => [name, value ?? '']),
);
const config = configOf(environment, 500);
const log = createLog({ level: 'silent' });
const service = createService(config, 'read-only', { log, pace: sharePace(db, config) });
const endMs = performance.now() + Number(seconds) * 1000;
/** More than fit into the time that one answer takes. */
const callers = 16;
const call = async () => {
  while (performance.now() < endMs) await service.team();
};
await Promise.all(Array.from({ length: callers }, call));
await service.close();
await db.close();
