import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';

describe.each(servers())('on $name', (server) => {
  let database: TestDatabase<unknown>;
  beforeAll(async () => {
    database = await createTestDatabase({ server });
  });
  afterAll(async () => await database.close());

  test('the template is migrated', async () => {
    const { rows } = await sql`select name, checksum from sync.migrations order by name`.execute(
      database.db.kysely,
    );
    expect(rows).toMatchObject([{ name: '0001_mirror' }, { name: '0002_sync' }, {}, {}]);
  });
});
