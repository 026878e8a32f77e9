/** A process that can play worlds: virtual time is installed, Postgres is there and migrated, and can be put back. */
import { createProcess, createWorld, homeHost, install, resetDatabaseDraws } from './world.ts';
import { createPostgres, VirtualSocket } from './postgres.ts';
import { takeSnapshot } from './snapshot.ts';

export const databaseUrl = (host: string): string =>
  `postgres://postgres@${host}:5432/postgres?sslmode=disable`;

/** @returns what begins a new world on the same ground */
export async function prepare() {
  const { PGlite } = await import('@electric-sql/pglite');
  const pglite = new PGlite({ relaxedDurability: true });
  await pglite.waitReady;
  install(VirtualSocket);
  const first = createWorld(0);
  const postgres = createPostgres(first, pglite);
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { migrate } = await import('../../src/mirror/migrations.ts');
  const run = first.as(createProcess('migrate'), async () => {
    const db = createDatabase({ url: databaseUrl(homeHost) });
    await migrate(db);
    await db.close();
  });
  await first.settle(run);
  for (const name of ['anna', 'bob', 'carol'])
    postgres.ask(`create role ${name} login; grant musterd_reader to ${name}`);
  postgres.ask(
    'grant musterd_editor, musterd_role_editor to anna, bob; grant musterd_approver to anna, carol',
  );
  postgres.ask('vacuum analyze');
  const putBack = takeSnapshot(pglite);
  return {
    begin: (seed: number) => {
      const world = createWorld(seed);
      putBack();
      resetDatabaseDraws(seed);
      return { world, postgres: createPostgres(world, pglite) };
    },
  };
}
