import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { call } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

const directory = mkdtempSync(join(tmpdir(), 'emulator-state-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Something of every kind. */
async function fill(emulator: Emulator): Promise<void> {
  const { team } = emulator;
  const [inbox] = team.inboxes();
  const [user] = team.users();
  const delivered = team.deliveries().length;
  await call(emulator, 'POST /v1/conversations/read', { inbox_id: inbox?.id, user_id: user?.id });
  const due = new Date(Math.ceil(emulator.clock.now() / 900_000 + 2) * 900_000).toISOString();
  for (const local of [`${team.name()} a`, `${team.name()} b`])
    await call(emulator, 'POST /v1/schedule', {
      inbox_id: inbox?.id,
      execute_at: due,
      content: { text: 'Hi' },
      targets: ['1', '2'],
      local_id: local,
    });
  emulator.clock.advance(3_600_000);
  expect(team.deliveries()).toHaveLength(delivered + 4);
  emulator.clock.advance(-3_600_000);
  team.setContacts(5, { filter: 'x' });
}

const textOf = (emulator: Emulator) => JSON.stringify(emulator.snapshot());

describe('the state file of the emulator', () => {
  it('the state file changes only in the lines of the rows that were edited', async () => {
    const stateFile = join(directory, 'state.json');
    const text = () => readFileSync(stateFile, 'utf8');
    await withEmulator({ stateFile, apiKey: 'legacy' }, fill);
    const first = text();
    const row = /^ {6}(\{.*\}),?$/gm;
    expect([...first.matchAll(row)].length).toBeGreaterThan(40);
    await withEmulator({ stateFile }, (emulator) => Promise.resolve(emulator));
    expect(text()).toBe(first);
    const changed = await withEmulator({ stateFile }, (emulator) => {
      const tag = emulator.team.tags()[3];
      emulator.team.editTag(tag?.id ?? 0, { tag: 'Changed' });
      return Promise.resolve(tag);
    });
    const before = first.split('\n');
    const differing = text()
      .split('\n')
      .filter((line, at) => line !== before[at]);
    expect(differing).toEqual([expect.stringContaining(`{"id":${changed?.id},"tag":"Changed"`)]);
  });

  it('the state file lists rows by id, even if a user was removed and added again', async () => {
    const stateFile = join(directory, 'order.json');
    await withEmulator({ stateFile }, (emulator) => {
      const id = emulator.team.users()[7]?.id ?? 0;
      const user = emulator.team.user(id);
      emulator.team.removeUser(id);
      emulator.team.addUser(user);
      return Promise.resolve();
    });
    const { teams } = JSON.parse(readFileSync(stateFile, 'utf8')) as { teams: { users: { id: number }[] }[] };
    const ids = teams[0]?.users.map(({ id }) => id) ?? [];
    expect(ids).toHaveLength(20);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  });
});

describe('a snapshot of the emulator', () => {
  it('restore sets all teams back to the snapshot after many changes', () =>
    withEmulator({ teams: [{ users: 2 }], apiKey: 'legacy' }, async (emulator) => {
      const { team } = emulator;
      await fill(emulator);
      const [before, snapshot] = [textOf(emulator), emulator.snapshot()];
      const [user] = team.users();
      team.removeUser(user?.id ?? 0);
      team.addTag('Since');
      team.rename('Since');
      team.addSecret({ id: 'since', key: 'k' });
      await fill(emulator);
      team.setApiKey(undefined);
      emulator.teams[1]?.removeUser(emulator.teams[1].users()[0]?.id ?? 0);
      await call(emulator, 'POST /v1/tags', {});
      emulator.restore(snapshot);
      expect(textOf(emulator)).toBe(before);
      expect((await call(emulator, 'GET /v1/team', undefined, 'legacy')).status).toBe(200);
      const found = await call(emulator, 'GET /v1/users/get', { email: [user?.email] });
      expect(found.json).toMatchObject({ memberships: [{ id: user?.id }] });
      const tags = (await call(emulator, 'POST /v1/tags', {})).json as { tag: string }[];
      expect(tags.map(({ tag }) => tag)).not.toContain('Since');
    }));

  it('the control endpoint returns a snapshot of more than 10 MiB, and restores it', async ({
    emulator,
    ask,
  }) => {
    emulator.team.addTag('x'.repeat(10 * 2 ** 20));
    const { text } = await ask('POST /_emulator/snapshot');
    expect(text === textOf(emulator)).toBe(true);
    emulator.team.addTag('Since');
    expect((await ask('POST /_emulator/restore', text)).status).toBe(200);
    expect(text === textOf(emulator)).toBe(true);
  });

  it('restore drops the late writes that the emulator has not applied yet', async ({ emulator, ask }) => {
    const snapshot = emulator.snapshot();
    emulator.addFault({ kind: 'late', answer: '504' });
    await ask('POST /v1/tag', { tag: 'Late' });
    emulator.restore(snapshot);
    emulator.applyLateWrites();
    expect(emulator.team.tags().map(({ tag }) => tag)).not.toContain('Late');
  });

  it("restore refuses a malformed snapshot or another team's snapshot", async ({ emulator, ask }) => {
    const before = textOf(emulator);
    const others = await withEmulator({ teamId: 7 }, (other) => Promise.resolve(other.snapshot()));
    expect(() => emulator.restore(others)).toThrow('The snapshot is of the teams 7, and not of 41.');
    const half = { ...emulator.snapshot(), teams: [{ ...emulator.snapshot().teams[0], users: 7 }] };
    for (const wrong of [others, half, null, {}, [], { format: 'x', teams: [] }])
      expect([wrong, (await ask('POST /_emulator/restore', wrong)).status]).toEqual([wrong, 400]);
    expect((await ask('POST /_emulator/restore')).status).toBe(400);
    expect(textOf(emulator)).toBe(before);
  });
});
