import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { dumpSchema, uncommented, withoutDefinitions } from '../support/schema-dump.ts';
import { schemaTypes } from '../support/schema-types.ts';
import { servers } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

/** Both are made with `UPDATE_SCHEMA=1 npx vitest run test/mirror/schema.test.ts`; read the diff. */
const FILE = fileURLToPath(new URL('schema.txt', import.meta.url));
const TYPES = fileURLToPath(new URL('../../src/mirror/db/schema.ts', import.meta.url));

describe.each(servers())('the schema on $name', (server) => {
  const database = useDatabase({ server });

  test('the schema matches schema.txt', async () => {
    const dump = await dumpSchema(database.db);
    const complete = server.major >= 16;
    if (process.env['UPDATE_SCHEMA'] && complete) writeFileSync(FILE, dump);
    const expected = readFileSync(FILE, 'utf8');
    expect(complete ? dump : withoutDefinitions(dump)).toBe(
      complete ? expected : withoutDefinitions(expected),
    );
  });

  test('the schema matches the types of schema.ts', async () => {
    const types = await schemaTypes(database.db);
    if (process.env['UPDATE_SCHEMA']) writeFileSync(TYPES, types);
    expect(types).toBe(readFileSync(TYPES, 'utf8'));
  });

  test('a query with an unknown column or a wrong value does not compile', () => {
    const { kysely } = database.db;
    // @ts-expect-error there is no such column
    kysely.selectFrom('sync.teams').select('name');
    // @ts-expect-error nor here
    kysely.deleteFrom('sync.teams').where((eb) => eb.and({ id: 1n }));
    // @ts-expect-error JSON is written as text
    const team = kysely.updateTable('mirror.teams').set({ raw: {} });
    // @ts-expect-error it is one of four words
    const due = kysely.updateTable('sync.due').set({ run_group: 'user' });
    expect([team.compile().sql, due.compile().sql]).toEqual([
      'update "mirror"."teams" set "raw" = $1',
      'update "sync"."due" set "run_group" = $1',
    ]);
  });

  test('the schema comments every table, view, column and function', async () => {
    expect(await uncommented(database.db)).toEqual([]);
  });
});
