/** A process that can play worlds: virtual time is installed, Postgres is there and migrated, and can be put back. */
import { createProcess, createWorld, homeHost, install, resetDatabaseDraws, type World } from './world.ts';
import { createPostgres, type Postgres, VirtualSocket } from './postgres.ts';
import type { Names } from './prepared.ts';
import { takeSnapshot } from './snapshot.ts';

export const databaseUrl = (host: string): string =>
  `postgres://postgres@${host}:5432/postgres?sslmode=disable`;

export interface Ground {
  /** A new world on the same ground. */
  begin(seed: number): { readonly world: World; readonly postgres: Postgres };
  /** Plays what the last world sent once more, and takes it back: the plans that were made for it are part of the ground from then on. */
  keepPlans(): void;
}

export async function prepare(): Promise<Ground> {
  const { PGlite } = await import('@electric-sql/pglite');
  const pglite = new PGlite({ relaxedDurability: true });
  await pglite.waitReady;
  install(VirtualSocket);
  const first = createWorld(0);
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { migrate } = await import('../../src/mirror/migrations.ts');
  let postgres = createPostgres(first, pglite, new Map());
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
  postgres.ask('deallocate all; set plan_cache_mode = force_generic_plan');
  let putBack = takeSnapshot(pglite);
  let names: Names = new Map();
  const begin = (seed: number) => {
    const world = createWorld(seed);
    putBack();
    resetDatabaseDraws(seed);
    postgres = createPostgres(world, pglite, new Map(names));
    return { world, postgres };
  };
  return {
    begin,
    keepPlans: () => {
      const { sent } = postgres;
      begin(0);
      names = postgres.rehearse(sent);
      putBack = takeSnapshot(pglite);
    },
  };
}
