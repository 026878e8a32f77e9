import { expect } from 'vitest';
import { createStage, onService, type Stage } from './stage.ts';

/** What a run has to send for the edit in the mirror. */
export interface Expected {
  readonly id: number;
  readonly email: string;
}

/** A mirror that agrees with a small service, for sweeps that disturb one run after the other. */
export async function createSmallStage(): Promise<Stage> {
  const stage = await createStage({ emulator: { users: 6, tags: 2, fields: 1 } });
  const { team } = stage.emulator;
  // Plain names, so that the halves in the mirror are those of the service.
  for (const { id } of team.users()) team.editUser(id, { first: 'Given', last: `Family${id}` });
  await stage.run();
  return stage;
}

/** An edit to push, and one to pull, and a new tag; with values of their own for each nonce. */
export async function editBothSides(stage: Stage, nonce: number): Promise<Expected> {
  const { team } = stage.emulator;
  const [pushed, pulled] = team.users().filter(({ email }) => email !== null);
  if (pushed === undefined || pulled === undefined) throw new Error('no such users');
  const email = `pushed${nonce}@example.com`;
  await stage.sql(`update mirror.users set email = '${email}' where id = ${pushed.id}`);
  team.editUser(pulled.id, { phone: `1555${1_000_000 + nonce}` });
  team.addTag(`tag ${nonce}`);
  stage.emulator.clearRequests();
  return { id: pushed.id, email };
}

/** Both sides are equal, nothing is left over, and the edit was sent once since it was made. */
export async function expectRepaired(stage: Stage, update: Expected, at: string): Promise<void> {
  expect(stage.updates(), at).toEqual([update]);
  expect(stage.emulator.team.user(update.id).email, at).toBe(update.email);
  expect(await stage.mirrored(), at).toEqual(onService(stage));
  expect(
    await stage.sql(`select (select count(*) from sync.changes where state = 'open') as open,
      (select count(*) from sync.runs where outcome = 'running') as running,
      (select count(*) from sync.held_fields) as held,
      (select count(*) from mirror.tags where gone_at is null) as tags`),
    at,
  ).toEqual([['0', '0', '0', String(stage.emulator.team.tags().length)]]);
}
