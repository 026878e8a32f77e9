import type { ListedResource } from '../../src/model/listed-resource.ts';
import { listedResources } from '../../src/model/listed-resources.ts';
import { describe, expect, it } from 'vitest';
import { MusterdError } from '../../src/errors.ts';
import type { Id } from '../../src/model/id.ts';
import type { Hold } from '../../src/model/user-plan.ts';
import type { UserPatch } from '../../src/model/user.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { holdAll, makeState, member, shown, guardLimits, teamOf } from './states.ts';
import type { ServicePort } from '../../src/reconcile/ports.ts';
import { reconcile } from '../../src/reconcile/reconcile.ts';
import type { ReconcileSettings } from '../../src/reconcile/reconcile-settings.ts';
import { createMirrorStandIn, type MirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn, refusal } from './service-stand-in.ts';

const ids = Array.from({ length: 10 }, (_, i) => BigInt(i + 1));
const valuesOf = (id: Id) => ({ email: `user${id}@example.com`, phone: `155501${id}`, roleId: 4n });
const team = teamOf(ids.map((id) => ({ ...member, id })));
const settings: ReconcileSettings = {
  program: '1.0.0',
  push: { batchSize: 25, quietPeriodMs: 600_000, maxTries: 3, sendDeadlineMs: 5_000, placeMs: 0 },
  pageSize: 30,
  absence: { confirmAfterMs: 600_000 },
  guard: { ...guardLimits, maxShare: 0.5, maxRoleChanges: 5, adminRoleIds: [4n] },
  policy: holdAll,
  segments: [{ name: 'all', filter: {} }] as unknown as ReconcileSettings['segments'],
};

/** A mirror and a service that agree on ten users, and whole runs between them. */
function createStage(given: Partial<MirrorStandIn> = {}, says: Partial<ServicePort> = {}) {
  const states = ids.map((id) => ({
    ...makeState({ base: valuesOf(id), mirror: valuesOf(id), service: null }),
    id,
  }));
  const done = () => Promise.resolve();
  const service = Object.assign(
    createServiceStandIn(ids.map((id) => ({ ...shown, ...valuesOf(id), id }))),
    says,
  );
  const mirror = Object.assign(
    createMirrorStandIn(states),
    {
      population: ids.length,
      applyOddities: done,
      applyAbsences: () => Promise.resolve([]),
      applyContactCounts: done,
    },
    given,
  );
  const runAs = async (
    places: { readonly sendBlock?: 'copy' },
    ...groups: Parameters<typeof reconcile>[3] & object
  ) => {
    const notes = createRunNotes();
    service.updates.length = 0;
    await reconcile({ service, mirror, notes, monotonicMs: () => 0, ...places }, team, settings, groups);
    return notes;
  };
  const run = runAs.bind(undefined, {});
  return { service, mirror, run, runAs };
}

describe('the pushes of a run', () => {
  it('does not push to a user whose row an editor had locked, until the next run', async () => {
    const { service, mirror, run } = createStage();
    const applyUsers = mirror.applyUsers.bind(mirror);
    mirror.edit(1n, { email: 'robin1@example.com' });
    mirror.edit(2n, { email: 'robin2@example.com' });
    let calls = 0;
    // Only that one time: right before the push the row is free again.
    mirror.applyUsers = async (plans) => {
      calls += 1;
      if (calls > 1) return await applyUsers(plans);
      await applyUsers(plans.filter(({ id }) => id !== 1n));
      return [1n];
    };
    const { counts, reasons } = await run('users');
    expect(service.updates).toEqual([new Map([[2n, { email: 'robin2@example.com' }]])]);
    expect({ counts, reasons }).toMatchObject({
      counts: { deferred: 1, pushed: 1 },
      reasons: ['1 users were being edited and wait for the next run'],
    });
    expect((await run('users')).counts).toMatchObject({ pushed: 1 });
    expect(service.updates).toEqual([new Map([[1n, { email: 'robin1@example.com' }]])]);
  });

  it('does not push an edit that was made after the verdict of the guard, until the next run', async () => {
    const { service, mirror, run } = createStage();
    const applyUsers = mirror.applyUsers.bind(mirror);
    mirror.edit(1n, { email: 'robin@example.com', phone: '15550177' });
    mirror.edit(2n, { email: 'eva@example.com' });
    mirror.applyUsers = (plans) => {
      mirror.applyUsers = applyUsers;
      mirror.edit(1n, { email: 'later@example.com' });
      mirror.edit(2n, { roleId: 9n });
      mirror.edit(3n, { email: 'new@example.com' });
      return applyUsers(plans);
    };
    await run('users');
    expect(service.updates).toEqual([
      new Map<Id, UserPatch>([
        [1n, { phone: '15550177' }],
        [2n, { email: 'eva@example.com' }],
      ]),
    ]);
    await run('users');
    expect(service.updates).toEqual([
      new Map<Id, UserPatch>([
        [1n, { email: 'later@example.com' }],
        [2n, { roleId: 9n }],
        [3n, { email: 'new@example.com' }],
      ]),
    ]);
  });

  it('postpones a demotion in a run of the edits, warns, and sends it in a run of all users', async () => {
    const { service, mirror, run } = createStage();
    const readAddresses = mirror.readAddresses.bind(mirror);
    mirror.readAddresses = (whose) => readAddresses(whose === 'edited' ? [1n] : whose);
    mirror.edit(1n, { roleId: 9n });
    const { warnings } = await run('edits');
    expect(warnings).toEqual([expect.stringMatching(/^1 edited fields wait for a run that reads all users/)]);
    expect(service.updates).toEqual([]);
    await run('users');
    expect(service.updates).toEqual([new Map([[1n, { roleId: 9n }]])]);
  });

  it.each([
    ['and sends it in the next run', {}, 1],
    ['but not if nothing may be sent', { sendBlock: 'copy' }, undefined],
  ] as const)('postpones an address that another user gives up, %s', async (_, places, postponed) => {
    const { service, mirror, runAs } = createStage();
    mirror.edit(2n, { email: 'new@example.com' });
    mirror.edit(3n, { email: valuesOf(2n).email });
    const { counts, warnings } = await runAs(places, 'users');
    expect([counts.postponed, warnings.length]).toEqual([postponed, postponed ?? 0]);
    if (postponed === undefined) return;
    expect(service.updates).toEqual([new Map([[2n, { email: 'new@example.com' }]])]);
    await runAs(places, 'users');
    expect(service.updates).toEqual([new Map([[3n, { email: valuesOf(2n).email }]])]);
  });

  it('records a push as approved only if a person approved every field of the push', async () => {
    const { mirror, run } = createStage();
    const openIntents = mirror.openIntents.bind(mirror);
    const asked: (readonly Id[])[] = [];
    mirror.openIntents = (plans, approved) => {
      asked.push([...approved]);
      return openIntents(plans, approved);
    };
    for (const id of [1n, 2n, 3n]) mirror.edit(id, { email: `robin${id}@example.com` });
    mirror.edit(2n, { phone: '15550177' });
    for (const id of [1n, 2n]) {
      const { email } = valuesOf(id);
      const values = { base: email, mirror: `robin${id}@example.com`, service: email };
      const hold: Hold = { field: 'email', reason: 'limit', detail: '', ...values, decision: 'approved' };
      mirror.states.set(id, { ...mirror.state(id), held: [hold] });
    }
    expect((await run('users')).counts).toMatchObject({ pushed: 4 });
    expect(asked).toEqual([[1n]]);
  });

  it.each([
    ['many emails', (id: Id) => ({ email: `robin${id}@example.com` })],
    ['one phone for many users', () => ({ phone: '15550177' })],
  ])('neither sends updates nor writes users if the guard stops the run for %s', async (_, edited) => {
    const { service, mirror, run } = createStage();
    for (const id of ids.slice(0, 6)) mirror.edit(id, edited(id));
    mirror.applyUsers = () => Promise.reject(new Error('written'));
    const notes = await run('users', 'listings', 'counts');
    expect(notes.refusal).toMatchObject({ users: 6, stopped: true });
    expect(notes.counts).not.toHaveProperty('postponed');
    expect(service.updates).toEqual([]);
  });
});

describe('one part of a run that fails', () => {
  const empty = { status: 'complete', because: '', rows: [], rejected: [], pages: 1, learned: {} };
  const parts: Readonly<Record<string, (error: Error) => object>> = {
    users: (error: Error) => ({ users: () => Promise.reject(error) }),
    ...Object.fromEntries(
      listedResources.map(({ name }) => [
        name,
        (error: Error) => ({
          list: (listed: ListedResource) =>
            listed.name === name ? Promise.reject(error) : Promise.resolve(empty),
        }),
      ]),
    ),
    'contact counts': (error: Error) => ({ contactCount: () => Promise.reject(error) }),
  };
  const listings = {
    list: () => Promise.resolve(empty),
    contactCount: () => Promise.resolve(1n),
  } as unknown as Partial<ServicePort>;
  const nothing = { added: 0, changed: 0, absent: [], population: 0 };
  const written = {
    applyListing: () => Promise.resolve(nothing),
  } as unknown as Partial<MirrorStandIn>;
  const groups = ['users', 'listings', 'counts'] as const;

  it.each(Object.entries(parts))('makes the run partial, and the run continues: %s', async (_, says) => {
    const { run } = createStage(written, { ...listings, ...says(refusal(500)) });
    expect((await run(...groups)).reasons).toEqual([expect.stringContaining('answered 500')]);
  });

  it.each(Object.entries(parts))('ends the run if the credentials are refused: %s', async (_, says) => {
    const { run } = createStage(written, { ...listings, ...says(refusal(401)) });
    await expect(run(...groups)).rejects.toMatchObject({ code: 'credentials' });
  });

  it.each(Object.entries(parts))('ends the run if it is stopped during a part: %s', async (_, says) => {
    const { run } = createStage(written, { ...listings, ...says(new MusterdError('stopped', 'stopped')) });
    await expect(run(...groups)).rejects.toMatchObject({ code: 'stopped' });
  });
});
