import { describe, expect, it } from 'vitest';
import { MusterdError } from '../../src/errors.ts';
import { type Field, fields, type UserValues } from '../../src/model/fields.ts';
import type { Id } from '../../src/model/id.ts';
import { splitName } from '../../src/model/name.ts';
import type { SendBlock } from '../../src/model/place.ts';
import type { TeamMember } from '../../src/model/team-member.ts';
import type { ServiceUser, UserPatch } from '../../src/model/user.ts';
import { type Hold, isPush } from '../../src/model/user-plan.ts';
import type { Policy } from '../../src/reconcile/merge/merge-field.ts';
import { holdAll, makeState, without, teamOf } from './states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { patchedFields } from '../../src/reconcile/push/outcome.ts';
import { pushEdits } from '../../src/reconcile/push/push.ts';
import { createPushContext } from '../../src/reconcile/push/record.ts';
import { settleIntents } from '../../src/reconcile/push/settle-intents.ts';
import { createRunNotes, type RunEvent } from '../../src/reconcile/run-notes.ts';
import { takePatch } from './apply-plan.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn, type Patches, refusal, type ServiceStandIn } from './service-stand-in.ts';

const addressesOf = (id: Id) => [`user${id}@example.com`, String(15550100n + id)] as const;

const makeUser = (id: Id, given: Partial<ServiceUser> = {}): ServiceUser => ({
  id,
  name: 'Anne Berg',
  email: addressesOf(id)[0],
  phone: addressesOf(id)[1],
  roleId: 3n,
  raw: {},
  ...given,
});

interface StageOptions {
  readonly users?: number;
  readonly batchSize?: number;
  readonly policy?: Policy;
  readonly placeMs?: number;
}

/** A mirror and a service that agree on so many users, and the pushing half of a run between them. */
function createStage({ users = 1, batchSize = 25, policy = holdAll, placeMs = 0 }: StageOptions = {}) {
  const ids = Array.from({ length: users }, (_, i) => BigInt(i + 1));
  const service = createServiceStandIn(ids.map((id) => makeUser(id)));
  const mirror = createMirrorStandIn(
    ids.map((id) => {
      const [email, phone] = addressesOf(id);
      return { ...makeState({ base: { email, phone }, mirror: { email, phone }, service: null }), id };
    }),
  );
  const clock = { now: 0 };
  const run = async ({
    readAgoMs,
    approved = new Map(),
    sendBlock,
    members = [],
  }: {
    readonly members?: readonly TeamMember[];
    readonly readAgoMs?: number;
    readonly approved?: ReadonlyMap<Id, readonly Field[]>;
    /** Why nothing may be sent. */
    readonly sendBlock?: SendBlock;
  } = {}) => {
    const events: RunEvent[] = [];
    const notes = createRunNotes((event) => events.push(event));
    const monotonicMs = () => {
      clock.now += 5;
      return clock.now;
    };
    const places = {
      ...createPushContext({ service, mirror, notes, monotonicMs, sendBlock }, teamOf(members)),
      users: new Map(service.held),
      approved,
    };
    const settings = {
      batchSize,
      quietPeriodMs: 600_000,
      sendDeadlineMs: 5_000,
      placeMs,
      policy,
      maxTries: 3,
    };
    service.updates.length = 0;
    let error: unknown;
    try {
      await settleIntents({ ...places, users: new Map() }, settings);
      const states = await mirror.differing(service.held);
      const plans = states.map((state) => planUser(state, undefined, policy));
      await mirror.applyUsers(plans);
      const plannedAtMs = readAgoMs === undefined ? null : clock.now - readAgoMs;
      service.filters.length = 0;
      await pushEdits({ ...places, plannedAtMs }, settings, plans.filter(isPush));
    } catch (thrown) {
      error = thrown;
    }
    return { notes, events, error, breaker: places.breaker };
  };
  const show = (id: Id) => {
    const { mirror: row, base, held } = mirror.state(id);
    return { row, base, held, service: service.held.get(id), open: mirror.intents.get(id)?.sent };
  };
  return { ids, service, mirror, clock, run, show };
}

const sentFields = (updates: readonly Patches[]) =>
  updates.map((patches) => [...patches.values()].flatMap(patchedFields));
const sentIds = (updates: readonly Patches[]) => updates.map((patches) => [...patches.keys()]);

const robin: UserValues = {
  name: { first: 'Robin', last: 'Doe' },
  email: 'Robin@Example.com',
  phone: '+15550177',
  roleId: 9n,
};
/** What a service that takes them shows of these values. */
const taken = { name: 'Robin Doe', email: 'robin@example.com', phone: '15550177', roleId: 9n };

describe('pushEdits with many edits', () => {
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
  };
  /** New roles of so many users, of which that of user 30 clears the name; each request waits for so many turns. */
  const harming = (users: number, turnsOf: (request: number) => number) => {
    const made = createStage({ users });
    for (const id of made.ids) made.mirror.edit(id, { roleId: 9n });
    made.service.take = (user, patch) => ({
      ...takePatch(user, patch),
      ...(user.id === 30n ? { name: '' } : {}),
    });
    let requests = 0;
    made.service.beforeDispatch = () => {
      requests += 1;
      return turns(turnsOf(requests));
    };
    return made;
  };

  it.each<readonly [string, number, number, ServiceStandIn['refusesPatch']]>([
    ['as a whole', 400, 25, () => false],
    ['user by user', 75, 25, (_, id) => id === 1n],
    ['field by field', 3, 1, ({ roleId }, id) => id === 1n && roleId !== undefined],
  ])('sends two batches at a time once the service accepted one %s', async (_, users, batchSize, refuses) => {
    const { service, mirror, run, ids } = createStage({ users, batchSize });
    for (const id of ids) mirror.edit(id, { name: { first: 'Robin', last: String(id) }, roleId: 9n });
    service.refusesPatch = refuses;
    let inFlight = 0;
    const most: number[] = [];
    service.beforeDispatch = async () => {
      inFlight += 1;
      most.push(inFlight);
      await turns(50);
      inFlight -= 1;
    };
    await run();
    expect(most[0]).toBe(1);
    expect(Math.max(...most)).toBe(2);
    expect(new Set(sentIds(service.updates).flat())).toEqual(new Set(ids));
  });

  it('does not send waiting updates once an earlier update has cleared a name', async () => {
    const { service, mirror, run } = harming(200, (request) => 100 * request);
    const { breaker, error } = await run();
    expect({ open: breaker.open, error }).toEqual({ open: true, error: undefined });
    const sent = service.updates.flatMap((patches) => [...patches.keys()]);
    expect(sent.length).toBe(50);
    expect([...mirror.intents.keys()]).toEqual([]);
  });

  it.each([
    ['leaves too late', undefined],
    ['is answered 429', 429],
  ])('reads no user again after a cleared name, even if a later update %s', async (_, status) => {
    const { service, mirror, run } = harming(125, (request) => (request > 2 ? 50 : 0));
    if (status !== undefined) {
      // It has left by then, and its answer comes after that of the other.
      const update = service.updateUsers.bind(service);
      service.updateUsers = async (patches, options) => {
        if (!patches.has(60n)) return await update(patches, options);
        await options?.beforeSend?.();
        options?.atStart?.();
        await turns(100);
        throw refusal(status);
      };
    }
    const { error, breaker, notes } = await run();
    expect([error, breaker.open]).toEqual([undefined, true]);
    expect(notes.reasons).toEqual([expect.stringContaining('an update of user 30 changed a name')]);
    expect(service.filters.length).toBeLessThanOrEqual(4);
    expect([...mirror.intents.keys()]).toEqual([]);
  });

  /** Each update is taken as before, and its answer waits for this. */
  const answerLate = (service: ServiceStandIn, wait: (ids: readonly Id[]) => Promise<void>) => {
    const update = service.updateUsers.bind(service);
    service.updateUsers = async (patches, options) => {
      const answer = await update(patches, options);
      await wait([...patches.keys()]);
      return answer;
    };
  };

  it.each([
    ['lease-lost', new MusterdError('lease-lost', 'it stalled')],
    ['credentials', refusal(401)],
  ])('stops after a failed batch, and throws the error that ends the run: %s', async (code, ending) => {
    const { service, mirror, run, ids } = createStage({ users: 500 });
    for (const id of ids) mirror.edit(id, { name: { first: 'Robin', last: String(id) } });
    service.fault = (patches) => (patches.has(30n) ? { kind: 'not-sent' } : { kind: 'nothing' });
    answerLate(service, async ([first = 0n]) => {
      if (first <= 50n) return;
      await turns(100);
      throw ending;
    });
    const { error } = await run();
    expect(error).toMatchObject({ code });
    expect(sentIds(service.updates).map(([first]) => first)).toEqual([1n, 26n, 51n]);
  });

  it('reads the users of one batch at a time until the service has accepted a batch', async () => {
    const { service, mirror, run, ids } = createStage({ users: 125 });
    for (const id of ids) mirror.edit(id, { name: { first: 'Robin', last: String(id) } });
    service.hidden = new Set(ids.slice(0, 25));
    await run();
    expect(service.filters.map(({ emails }) => emails.length).filter(Boolean)).toEqual([25, 25, 25, 25, 25]);
  });

  it('reports the progress after each batch, and the duration of the longest request', async () => {
    const { service, mirror, run, ids } = createStage({ users: 75 });
    for (const id of ids) mirror.edit(id, { name: { first: 'Robin', last: String(id) } });
    const { events, notes } = await run();
    const told = events.filter(({ kind }) => kind === 'progress');
    expect(told).toEqual([25, 50, 75].map((done) => ({ kind: 'progress', step: 'push', done, total: 75 })));
    const windows = events.flatMap((event) => (event.kind === 'push' ? [event.windowMs] : []));
    expect(notes.longestPushMs).toBe(Math.max(...windows));
    // Of a push that stops nothing more is told.
    for (const id of ids) mirror.edit(id, { roleId: 9n });
    service.refusesPatch = () => true;
    expect((await run()).events.filter(({ kind }) => kind === 'progress')).toEqual([]);
  });
});

describe('pushEdits with edits that the service accepts', () => {
  it.each(fields)('sends only %s, and stores the value that the service shows (A19)', async (field) => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { [field]: robin[field] });
    const { notes } = await run();
    expect(service.updates).toEqual([new Map([[1n, { [field]: robin[field] }]])]);
    const { row, base, held } = show(1n);
    const stored = field === 'name' ? robin.name : taken[field];
    expect(row?.[field]).toEqual(stored);
    expect(base?.[field]).toEqual(stored);
    if (field === 'name') expect(base?.joined).toBe('Robin Doe');
    expect(held).toEqual([]);
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 1 }, requestIds: ['update-1'] });
    expect((await run()).notes.counts).toEqual({});
    expect(service.updates).toEqual([]);
  });

  it('sends edits in batches of the set size, and reports the duration of each batch', async () => {
    const { service, mirror, run, ids } = createStage({ users: 7, batchSize: 3 });
    for (const id of ids) mirror.edit(id, { roleId: 9n });
    const { notes, events } = await run();
    expect(sentIds(service.updates)).toEqual([[1n, 2n, 3n], [4n, 5n, 6n], [7n]]);
    expect(notes.counts).toEqual({ pushed: 7 });
    expect(events.filter(({ kind }) => kind === 'push')).toMatchObject([
      { users: [1n, 2n, 3n], requestId: 'update-1', windowMs: 20 },
      { users: [4n, 5n, 6n], requestId: 'update-2', windowMs: expect.any(Number) as number },
      { users: [7n], requestId: 'update-3', windowMs: expect.any(Number) as number },
    ]);
  });

  it.each([
    ['a moment ago', 900, [{ name: robin.name }], 'keeps', 0],
    ['too long ago', 1_100, [{ name: robin.name }], 'keeps', 1],
    ['a moment ago, and updates keep the name', 900, [{ phone: robin.phone }], 'keeps', 0],
    ['a moment ago, and updates may clear the name', 900, [{ phone: robin.phone }], 'clears', 1],
    ['a moment ago, and each update has a name', 900, [{ name: robin.name }], 'clears', 0],
    ['a moment ago, and one update has no name', 900, [{ name: robin.name }, { roleId: 9n }], 'clears', 1],
  ] as const)(
    'reads users again unless the plan did within 1 s and no name is sent along: read %s',
    async (_, readAgoMs, edits, safety, reads) => {
      const { service, mirror, run, show } = createStage({ users: edits.length });
      mirror.nameSafety = safety;
      for (const [at, edit] of edits.entries()) mirror.edit(BigInt(at + 1), edit);
      const { notes } = await run({ readAgoMs });
      expect(service.filters).toHaveLength(reads);
      expect(notes.counts).toMatchObject({ pushed: edits.length });
      expect(show(1n).open).toBeUndefined();
    },
  );

  it('records a push in the mirror before sending it (D9)', async () => {
    const { service, mirror, run } = createStage({ users: 2 });
    mirror.edit(1n, { email: robin.email });
    mirror.edit(2n, { name: robin.name, phone: null });
    const written: UserPatch[] = [];
    service.fault = (patches) => {
      for (const [id, patch] of patches) {
        expect(mirror.intents.get(id)?.sent).toEqual(patch);
        written.push(patch);
      }
      return { kind: 'nothing' };
    };
    await run();
    expect(written).toEqual([{ email: robin.email }, { name: robin.name, phone: null }]);
    expect(mirror.intents.size).toBe(0);
  });
});

describe('pushEdits right before an edit is sent', () => {
  it('reads the user again, pulls a new role, and holds the email that the service changed meanwhile (A24, A25)', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    const roster = service.users;
    Object.assign(service, {
      users: (filter: Parameters<typeof roster>[0]) => {
        service.held.set(1n, makeUser(1n, { email: 'service@example.com', roleId: 5n }));
        return roster(filter);
      },
    });
    const { notes } = await run();
    expect(service.updates).toEqual([]);
    expect(show(1n)).toMatchObject({
      row: { email: robin.email, roleId: 5n },
      base: { email: 'user1@example.com', roleId: 5n },
      held: [{ field: 'email', reason: 'conflict', service: 'service@example.com' }],
    });
    expect(show(1n).held[0]?.detail).toBe('both sides changed it since they last agreed');
    expect(notes.counts).toEqual({ held: 1 });
  });

  it('postpones a field whose value has changed on the service, and counts the field as postponed', async () => {
    const { service, mirror, run } = createStage({ policy: { ...holdAll, email: 'mirror-wins' } });
    mirror.edit(1n, { email: robin.email, phone: robin.phone });
    const { users } = service;
    service.users = (filter) => {
      service.held.set(1n, makeUser(1n, { email: 'moved@example.com' }));
      return users(filter);
    };
    const { notes } = await run();
    expect(sentFields(service.updates)).toEqual([['phone']]);
    expect(notes.counts).toEqual({ pushed: 1, postponed: 1 });
  });

  it('pushes nothing to a user whom the service shows in an older version, and warns (N25)', async () => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { email: robin.email });
    const { users } = service;
    service.users = (filter) => {
      mirror.states.set(1n, { ...mirror.state(1n), stale: true });
      return users(filter);
    };
    const { notes } = await run();
    expect(service.updates).toEqual([]);
    expect(notes.counts).toMatchObject({ stale: 1 });
    expect(notes.warnings).toHaveLength(1);
  });

  it.each([
    ['the hold is there, and the guard let the edit pass', 'approved', ['email']],
    ['the hold is there', 'approved', []],
    ['the hold is gone', undefined, ['email']],
  ] as const)('sends no field of a user with a void approval: %s', async (_, decision, passed) => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone });
    const known = mirror.state(1n);
    const hold: Hold = {
      field: 'email',
      edit: 1n,
      reason: 'limit',
      detail: '',
      base: known.base?.email,
      mirror: robin.email,
      service: known.base?.email,
      batch: '1a',
      decision: 'approved',
    };
    const edits = { email: { id: 1n, transaction: '1' }, phone: { id: 2n, transaction: '2' } };
    mirror.states.set(1n, { ...known, edits, held: [hold] });
    const roster = service.users;
    Object.assign(service, {
      users: (filter: Parameters<typeof roster>[0]) => {
        const held = decision === undefined ? [] : [{ ...hold, service: 'earlier@example.com' }];
        mirror.states.set(1n, { ...mirror.state(1n), held });
        return roster(filter);
      },
    });
    const { notes } = await run({ approved: new Map([[1n, passed]]) });
    expect(service.updates).toEqual([]);
    expect(notes.counts).toEqual({ postponed: 1 });
  });
});

const late = 'POST /v1/users/update was not sent: it had waited for too long since it was prepared';

describe('pushEdits with a batch that waits before it leaves', () => {
  it.each([
    ['is not sent', 5_001, 0],
    ['is sent', 4_000, 0],
    ['is sent, since waits for the rate limit do not count', 5_500, 300],
  ])('drops it after 5 s, not counting waits: it %s (read %i ms, waits %i ms)', async (says, ms, placeMs) => {
    const { service, mirror, clock, run } = createStage({ users: 2, placeMs });
    const { users } = service;
    mirror.edit(1n, { roleId: 9n });
    mirror.edit(2n, { roleId: 9n });
    service.users = async (filter) => {
      const answer = await users(filter);
      // Only a phone finds the second user.
      if (filter.emails.length > 0) return { ...answer, users: answer.users.filter(({ id }) => id === 1n) };
      clock.now += ms;
      return answer;
    };
    const { notes } = await run();
    const isSent = says !== 'is not sent';
    expect([sentIds(service.updates), notes.reasons]).toEqual(isSent ? [[[1n, 2n]], []] : [[], [late]]);
  });

  it('does not send a batch if the lease may have run out while the connection was opened', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    service.beforeStart = () => {
      mirror.requireLease = () => {
        throw new MusterdError('lease-lost', 'lost');
      };
    };
    const { error } = await run();
    expect(error).toMatchObject({ code: 'lease-lost' });
    expect(service.updates).toEqual([]);
    expect(show(1n)).toMatchObject({ open: { email: robin.email } });
  });

  it('does not send a batch if the run lost its lease while the batch waited (D15)', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    service.beforeDispatch = () => {
      mirror.checkLease = () => Promise.reject(new MusterdError('lease-lost', 'lost'));
      return Promise.resolve();
    };
    const { error } = await run();
    expect(error).toMatchObject({ code: 'lease-lost' });
    expect(service.updates).toEqual([]);
    expect(show(1n)).toMatchObject({ open: { email: robin.email } });
  });

  it('stops all pushes after three 429 answers, and the next run merges the unsent batches again (R6)', async () => {
    const { service, mirror, run, ids, show } = createStage({ users: 8, batchSize: 2 });
    for (const id of ids) mirror.edit(id, { email: `robin${id}@example.com` });
    service.fault = () => ({ kind: 'status', status: 429 });
    const { notes, error } = await run();
    expect(error).toBeUndefined();
    expect(sentIds(service.updates)).toEqual([
      [1n, 2n],
      [3n, 4n],
      [5n, 6n],
    ]);
    expect(notes.reasons).toContain('3 updates did not get through: pushing stopped');
    expect(ids.map((id) => show(id).open)).toEqual(ids.map(() => undefined));
    service.fault = () => ({ kind: 'nothing' });
    service.held.set(1n, makeUser(1n, { email: 'later@example.com' }));
    expect((await run()).notes.counts).toEqual({ pushed: 7 });
    expect(show(1n).held).toMatchObject([{ field: 'email', reason: 'conflict' }]);
  });
});

describe('pushEdits with a batch that the service refuses', () => {
  const bad = (field: Field) => (patch: UserPatch) => patch[field] === robin[field];

  it('retries the request user by user, then field by field, and holds only the refused value (A21)', async () => {
    const { service, mirror, run, ids, show } = createStage({ users: 25 });
    for (const id of ids) mirror.edit(id, { roleId: 5n, phone: String(15559000n + id) });
    mirror.edit(13n, { email: robin.email });
    service.refusesPatch = bad('email');
    const { notes, error } = await run();
    expect(error).toBeUndefined();
    for (const id of ids) {
      const { row, base, open } = show(id);
      expect(service.held.get(id)).toMatchObject({ roleId: 5n, phone: String(15559000n + id) });
      expect([row?.phone, base?.phone, base?.roleId, open]).toEqual([
        String(15559000n + id),
        String(15559000n + id),
        5n,
        undefined,
      ]);
    }
    expect(show(13n)).toMatchObject({
      row: { email: robin.email },
      base: { email: 'user13@example.com' },
      held: [
        {
          field: 'email',
          reason: 'refused',
          base: 'user13@example.com',
          mirror: robin.email,
          service: 'user13@example.com',
          detail: 'the service answered 400, "error"',
        },
      ],
    });
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 50, held: 1 } });
    expect(service.updates.length).toBe(1 + 25 + 3);
    await run();
    expect(service.updates).toEqual([]);
  });

  it.each([
    ['before the batch', [2n], [], [1n, 3n]],
    ['after the refusal', [], [2n], [1n, 2n, 3n]],
  ])('leaves out of the next request a user whom the read %s lacks', async (_, before, after, first) => {
    const { service, mirror, run, ids, show } = createStage({ users: 3 });
    for (const id of ids) mirror.edit(id, { roleId: 5n });
    service.hidden = new Set(before);
    service.fault = (__, request) => {
      if (request > 1) return { kind: 'nothing' };
      service.hidden = new Set(after);
      return { kind: 'status', status: 400 };
    };
    const { notes } = await run();
    expect(sentIds(service.updates)).toEqual([first, [1n], [3n]]);
    expect(show(2n)).toMatchObject({ open: undefined, held: [], base: { roleId: 3n } });
    expect(notes.reasons).toEqual(['1 users could not be read again before a push']);
  });

  it.each([
    ['three of four users get no answer', 25, [[1n, 2n, 3n, 4n], [1n], [2n], [3n]]],
    ['two users get no answer, and the next batch follows', 2, [[1n, 2n], [1n], [2n], [3n, 4n]]],
  ])('stops pushing at the third unanswered user, not earlier: %s', async (_, batchSize, sent) => {
    const { service, mirror, run, ids } = createStage({ users: 4, batchSize });
    for (const id of ids) mirror.edit(id, { roleId: 5n });
    service.fault = (patches, request) => {
      if (request === 1) return { kind: 'status', status: 400 };
      return patches.has(4n) ? { kind: 'nothing' } : { kind: 'lost', applied: false };
    };
    const { notes } = await run();
    expect(sentIds(service.updates)).toEqual(sent);
    expect(notes.reasons).not.toContain('the service refused every user of a batch: pushing stopped');
  });

  it('records the id of a refused request for each user of the request', async () => {
    const { service, mirror, run, ids } = createStage({ users: 2 });
    for (const id of ids) mirror.edit(id, { roleId: 5n });
    service.fault = (patches, request) => {
      if (request === 1) return { kind: 'status', status: 400, applied: [1n] };
      return patches.has(2n) ? { kind: 'status', status: 422 } : { kind: 'nothing' };
    };
    await run();
    expect(
      mirror.results.map(({ intent, outcomes, requestId }) => [intent.userId, outcomes, requestId]),
    ).toEqual([
      [1n, { roleId: 'unsent' }, 'refused-400'],
      [2n, { roleId: 'unsent' }, 'refused-400'],
      [2n, { roleId: 'refused' }, 'refused-422'],
    ]);
  });

  it('stops all pushes if the service refuses every field of every user of the batch', async () => {
    const { service, mirror, run, ids } = createStage({ users: 4, batchSize: 2 });
    for (const id of ids) mirror.edit(id, { roleId: 5n, phone: `1555090${id}` });
    service.refusesPatch = () => true;
    const { notes, events } = await run();
    expect(sentIds(service.updates).flat()).not.toContain(3n);
    expect(notes.reasons).toEqual(['the service refused every user of a batch: pushing stopped']);
    // No update of theirs has an answer that could be named.
    const pushes = events.flatMap((event) => (event.kind === 'push' ? [event.requestId] : []));
    expect(new Set(pushes)).toEqual(new Set([null]));
  });

  it('reads no user again if the refused request had only one field', async () => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { roleId: 5n });
    service.refusesPatch = () => true;
    await run();
    expect([service.updates.length, service.filters.length]).toEqual([1, 1]);
  });

  it.each([
    ['does not show the user', (service: ServiceStandIn) => (service.hidden = new Set([1n]))],
    ['leaves the field out', ({ held }: ServiceStandIn) => held.set(1n, without('phone', held.get(1n)))],
  ])('sends a field three times, then holds it, if the service %s (A21)', async (_, hide) => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { phone: '15550177', roleId: 5n });
    const before = new Map(service.held);
    service.fault = () => {
      hide(service);
      return { kind: 'status', status: 400 };
    };
    let sent = 0;
    for (let nr = 0; nr < 6; nr += 1) {
      service.hidden = new Set();
      for (const [id, user] of before) service.held.set(id, user);
      await run();
      sent += service.updates.length;
    }
    expect(sent).toBe(3);
    expect(mirror.results.map(({ outcomes }) => outcomes.phone).slice(0, 3)).toContain('refused');
    expect(show(1n).held.find(({ field }) => field === 'phone')).toMatchObject({ reason: 'refused' });
  });

  it('holds the field of a user whose update gets a 403, and pushes the fields of all other users (A22)', async () => {
    const { service, mirror, run, ids, show } = createStage({ users: 4 });
    for (const id of ids) mirror.edit(id, { roleId: 5n });
    service.fault = (patches) => (patches.has(3n) ? { kind: 'status', status: 403 } : { kind: 'nothing' });
    const { notes, error } = await run();
    expect(error).toBeUndefined();
    expect(ids.map((id) => show(id).base?.roleId)).toEqual([5n, 5n, 3n, 5n]);
    expect(show(3n).held).toMatchObject([{ field: 'roleId', reason: 'refused' }]);
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 3, held: 1 } });
  });
});

describe('pushEdits with fields that are sent one by one', () => {
  const stage = () => {
    const made = createStage();
    made.mirror.edit(1n, { ...robin });
    return made;
  };

  it('reads the user again before each field, however recent the read of the plan is', async () => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone, roleId: 9n });
    service.refusesPatch = (patch) => Object.keys(patch).length > 1;
    await run({ readAgoMs: 100 });
    expect(sentFields(service.updates)).toEqual([
      ['email', 'phone', 'roleId'],
      ['roleId'],
      ['phone'],
      ['email'],
    ]);
    expect(service.filters).toHaveLength(3);
  });

  it('holds the email as a conflict if the answer to the update of the phone shows another email (A25)', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone });
    service.fault = (_, request) => {
      if (request === 1) return { kind: 'status', status: 422 };
      // Right before the phone arrives, somebody sets the email in the web app.
      const user = service.held.get(1n);
      if (request === 2 && user !== undefined) service.held.set(1n, { ...user, email: 'web@example.com' });
      return { kind: 'nothing' };
    };
    const { notes } = await run();
    expect(sentFields(service.updates)).toEqual([['email', 'phone'], ['phone']]);
    expect(show(1n)).toMatchObject({
      service: { email: 'web@example.com', phone: '15550177' },
      row: { email: robin.email },
      base: { email: 'user1@example.com', phone: '15550177' },
      held: [{ field: 'email', reason: 'conflict', service: 'web@example.com' }],
    });
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 1, held: 1 } });
  });

  it('writes the bytes that the service shows into base even if the last answer lacks the user', async () => {
    const { service, run, show } = stage();
    service.fault = (_, request) => (request === 1 ? { kind: 'status', status: 400 } : { kind: 'nothing' });
    service.answer = (user) => (user.name === 'Robin Doe' ? undefined : user);
    await run();
    expect(show(1n)).toMatchObject({ open: undefined, base: { ...taken, name: robin.name } });
  });
});

/** A service that clears the name where an update leaves it out. */
function clearNames({ service }: ReturnType<typeof createStage>) {
  service.take = (user, patch) => takePatch(patch.name === undefined ? { ...user, name: '' } : user, patch);
}

/** Gives a user a name, cut in two by guess, on both sides. */
function rename({ service, mirror }: ReturnType<typeof createStage>, id: Id, joined: string) {
  const { base, mirror: row, ...state } = mirror.state(id);
  if (base === undefined || row === undefined) throw new Error('nobody');
  const name = splitName(joined);
  mirror.states.set(id, {
    ...state,
    base: { ...base, name, joined },
    mirror: { ...row, name, joined, split: 'guessed' },
  });
  service.held.set(id, { ...(service.held.get(id) ?? makeUser(id)), name: joined });
}

const harmedFirst =
  'an update of user 1 changed a name that was not sent: pushing stopped, and the next run puts the name back';

describe('pushEdits, field by field, with a service that clears names', () => {
  const anne = { first: 'Anne', last: 'Berg' };
  const stage = (safety: 'keeps' | 'clears' | 'unknown', edit: Partial<UserValues>) => {
    const made = createStage();
    clearNames(made);
    made.mirror.nameSafety = safety;
    made.mirror.edit(1n, edit);
    return made;
  };
  const refusesRobin = (patch: UserPatch) => patch.name?.first === 'Robin';

  it.each(['unknown', 'clears'] as const)(
    'sends the old name with later fields if the service refuses the new name (effect on names: %s) (A16)',
    async (safety) => {
      const { service, run, show } = stage(safety, { email: robin.email, name: robin.name });
      service.refusesPatch = refusesRobin;
      const { notes, breaker } = await run();
      expect(service.updates.slice(1)).toEqual([
        new Map([[1n, { name: robin.name }]]),
        new Map([[1n, { name: anne, email: robin.email }]]),
      ]);
      expect(breaker.open).toBe(false);
      expect(notes).toMatchObject({ reasons: [], counts: { pushed: 1, held: 1 } });
      expect(show(1n)).toMatchObject({
        open: undefined,
        service: { name: 'Anne Berg', email: 'robin@example.com' },
        row: { name: robin.name },
        base: { name: anne, email: 'robin@example.com' },
        held: [{ field: 'name', reason: 'refused', service: 'Anne Berg' }],
      });
    },
  );

  it('holds later fields after a refused name if the halves of the old name are unknown', async () => {
    const made = stage('clears', {});
    const { service, mirror, run, show } = made;
    rename(made, 1n, 'Anne Marie Berg');
    mirror.edit(1n, { email: robin.email, name: robin.name, split: 'known' });
    service.refusesPatch = refusesRobin;
    const { notes, error } = await run();
    expect(service.updates.slice(1)).toEqual([new Map([[1n, { name: robin.name }]])]);
    expect(mirror.results.at(-1)?.outcomes).toEqual({ name: 'refused' });
    expect([notes.reasons, error]).toEqual([[], undefined]);
    expect(show(1n)).toMatchObject({
      service: { name: 'Anne Marie Berg' },
      held: [
        { field: 'name', reason: 'refused' },
        { field: 'email', reason: 'unsupported' },
      ],
    });
  });

  it('stops all pushes if an update without the name turns out to clear the name (A16)', async () => {
    const { service, mirror, run, show } = stage('keeps', { email: robin.email, name: robin.name });
    service.refusesPatch = refusesRobin;
    const { notes, breaker } = await run();
    expect(sentFields(service.updates).slice(1)).toEqual([['email']]);
    expect(breaker.open).toBe(true);
    expect(notes.reasons).toEqual([harmedFirst]);
    expect(mirror.results.at(-1)?.intent.sent).toEqual({ email: robin.email });
    expect(show(1n)).toMatchObject({
      open: undefined,
      // What our own update left is nobody's edit: base takes it.
      base: { email: 'robin@example.com', joined: '' },
      held: [],
    });
    // The edit of the name is sent by itself from then on.
    await run();
    expect(sentFields(service.updates)).toEqual([['name']]);
    expect(show(1n).held).toMatchObject([
      { field: 'name', reason: 'refused', mirror: robin.name, service: '' },
    ]);
  });

  it('reads no user again once the update of a field has cleared a name', async () => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone, roleId: 9n });
    service.refusesPatch = (patch) => Object.keys(patch).length > 1;
    service.take = (user, patch) => ({ ...takePatch(user, patch), name: '' });
    const { breaker } = await run();
    expect(breaker.open).toBe(true);
    expect(sentFields(service.updates)).toEqual([['email', 'phone', 'roleId'], ['roleId']]);
    // Before the update, and before the first field.
    expect(service.filters).toHaveLength(2);
  });
});

describe('pushEdits after a push without an answer', () => {
  const lostStage = (applied: boolean, edit: Partial<UserValues> = { email: robin.email }) => {
    const made = createStage();
    made.mirror.edit(1n, edit);
    made.service.fault = () => ({ kind: 'lost', applied });
    return made;
  };

  it('confirms the push at once if a lookup by the new address finds the user (N5)', async () => {
    const { service, mirror, run, show } = lostStage(true);
    service.unfiltered = 'none';
    // Without a phone the email is the only address, and the old one finds nobody any more.
    const state = mirror.state(1n);
    service.held.set(1n, makeUser(1n, { phone: '' }));
    mirror.edit(1n, { phone: null });
    if (state.base !== undefined)
      mirror.states.set(1n, { ...mirror.state(1n), base: { ...state.base, phone: null } });
    const { notes } = await run();
    expect(service.updates).toHaveLength(1);
    // One before the push, and one after it: without the new address there would be one more, by that of the list.
    expect(service.filters).toHaveLength(2);
    expect(show(1n)).toMatchObject({ open: undefined, base: { email: 'robin@example.com' } });
    expect(notes.reasons).toEqual(['a push was not answered: no answer']);
  });

  it.each([
    ['email', 'agreed on'],
    ['email', 'shown before'],
    ['phone', 'agreed on'],
    ['phone', 'shown before'],
  ] as const)(
    'finds the user again by the %s that was %s, if there is no second address',
    async (field, old) => {
      const policy: Policy = { ...holdAll, [field]: 'mirror-wins' };
      const { service, mirror, run, show } = createStage({ policy });
      const agreed = { email: null, phone: null, [field]: addressesOf(1n)[field === 'email' ? 0 : 1] };
      const before =
        old === 'agreed on'
          ? agreed
          : { ...agreed, [field]: { email: 'b@example.com', phone: '15550199' }[field] };
      service.held.set(1n, makeUser(1n, before));
      mirror.states.set(1n, { ...makeState({ base: agreed, mirror: agreed, service: null }), id: 1n });
      mirror.edit(1n, { [field]: robin[field] });
      service.fault = () => ({ kind: 'lost', applied: false });
      await run();
      const others = service.filters.flatMap(({ emails, phones }) => (field === 'email' ? phones : emails));
      expect(others).toEqual([]);
      service.fault = () => ({ kind: 'nothing' });
      service.unfiltered = 'none';
      mirror.age(600_000);
      expect((await run()).notes).toMatchObject({ reasons: [], counts: { pushed: 1 } });
      expect(show(1n)).toMatchObject({ service: { [field]: taken[field] }, open: undefined });
    },
  );

  it('keeps a push open while the service does not show its value, and sends it again after the quiet period (N6, A26)', async () => {
    const { service, mirror, run, show } = lostStage(false);
    const first = await run();
    expect(show(1n)).toMatchObject({ open: { email: robin.email }, base: { email: 'user1@example.com' } });
    expect(first.notes.counts).toEqual({ unknown: 1 });
    expect(first.notes.reasons).toContain('the outcome of a push to user 1 is unknown');

    service.fault = () => ({ kind: 'nothing' });
    mirror.age(599_999);
    const second = await run();
    expect(service.updates).toEqual([]);
    expect(second.notes.reasons).toEqual(['the outcome of a push to user 1 is unknown']);

    mirror.age(1);
    const third = await run();
    expect(service.updates).toHaveLength(1);
    expect(third.notes).toMatchObject({ reasons: [], counts: { pushed: 1 } });
    expect(show(1n).base?.email).toBe('robin@example.com');
  });

  it('keeps the push open while the service shows an older version of the user', async () => {
    const { service, mirror, run, show } = lostStage(true);
    const showOlder = (stale: boolean) => mirror.states.set(1n, { ...mirror.state(1n), stale });
    service.fault = () => {
      showOlder(true);
      return { kind: 'lost', applied: true };
    };
    await run();
    await run();
    expect(show(1n)).toMatchObject({ open: { email: robin.email }, base: { email: 'user1@example.com' } });
    showOlder(false);
    await run();
    expect(show(1n)).toMatchObject({ open: undefined, base: { email: 'robin@example.com' } });
  });

  it('closes the push and makes the run partial if no lookup shows the user after the quiet period (N6)', async () => {
    const { service, mirror, run, show } = lostStage(false);
    await run();
    service.held.delete(1n);
    mirror.age(600_000);
    const { notes } = await run();
    expect(show(1n).open).toBeUndefined();
    expect(notes.reasons).toEqual([
      'the service does not show what was pushed to user 1: it is not known whether it had an effect',
    ]);
  });
});

describe.each(['copy', 'elsewhere'] as const)('a run that may not send (%s)', (sendBlock) => {
  it('neither sends an edit nor records a push', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    await run({ sendBlock });
    expect(service.updates).toEqual([]);
    expect(show(1n)).toMatchObject({ open: undefined, row: { email: robin.email } });
  });

  it.each([true, false])('keeps an earlier push open, however old the push is (sent %s)', async (hasLeft) => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    service.fault = () => ({ kind: 'lost', applied: false });
    if (!hasLeft) service.beforeDispatch = () => Promise.reject(new Error('the process ends'));
    await run();
    mirror.age(600_000);
    await run({ sendBlock });
    expect(show(1n).open).toEqual({ email: robin.email });
  });

  it('keeps all values of a push open if the service shows only some of these values', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone });
    service.fault = () => ({ kind: 'lost', applied: false });
    await run();
    service.held.set(1n, makeUser(1n, { email: taken.email }));
    mirror.age(600_000);
    await run({ sendBlock });
    expect(show(1n).open).toEqual({ email: robin.email, phone: robin.phone });
  });

  it('confirms an earlier push whose value the service shows', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    service.fault = () => ({ kind: 'lost', applied: false });
    await run();
    service.held.set(1n, makeUser(1n, { email: taken.email }));
    const { events } = await run({ sendBlock });
    expect(events).toEqual([{ kind: 'step', step: 'open pushes' }]);
    expect(show(1n)).toMatchObject({ open: undefined, base: { email: taken.email } });
  });
});

describe('a user whose pushes never get an answer', () => {
  it('does not make the run report a stop if the three unanswered users were the last users', async () => {
    const { service, mirror, run, ids } = createStage({ users: 3, batchSize: 1 });
    for (const id of ids) mirror.edit(id, { roleId: 9n });
    service.fault = () => ({ kind: 'lost', applied: false });
    const { notes } = await run();
    expect(service.updates).toHaveLength(3);
    expect(notes.reasons).not.toContain('3 updates did not get through: pushing stopped');
  });
});

describe('an update that leaves the name out', () => {
  const nameless = (safety: 'keeps' | 'clears' | 'unknown') => {
    const made = createStage({ users: 4, batchSize: 2 });
    for (const id of made.ids) made.mirror.edit(id, { email: `new${id}@example.com` });
    made.mirror.edit(1n, { name: robin.name });
    made.mirror.nameSafety = safety;
    return made;
  };

  /** Three users, of whom each sends an email alone; their names, and whose is in conflict. */
  it.each([
    ['a name of two words', ['Anne Marie Berg', 'Anne Berg', 'Cher'], [], 2n],
    ['a name without a hold', ['Anne Berg', 'Anne Marie Berg', 'Cher'], [1n], 3n],
    ['the first user, if all names are held', ['Anne Marie Berg', 'Anne Berg', 'Cher'], [1n, 2n, 3n], 1n],
  ] as const)('goes first to a user with known halves and no hold: %s', async (_, names, held, first) => {
    const made = createStage({ users: 3, batchSize: 2 });
    made.mirror.nameSafety = 'unknown';
    for (const [at, name] of names.entries()) {
      const id = BigInt(at + 1);
      rename(made, id, name);
      made.mirror.edit(id, { email: `new${id}@example.com` });
      if (!(held as readonly Id[]).includes(id)) continue;
      made.mirror.edit(id, { name: robin.name });
      made.service.held.set(id, { ...makeUser(id), name: 'Web Name' });
    }
    await made.run();
    expect(made.service.updates[0]).toEqual(new Map([[first, { email: `new${first}@example.com` }]]));
  });

  it('goes alone in a request until the service has accepted one such update', async () => {
    const { service, run } = nameless('unknown');
    service.refusesPatch = (_, id) => id === 2n;
    await run();
    expect(sentIds(service.updates)).toEqual([[2n], [3n], [1n, 4n]]);
  });

  it('gets the name too if the service clears a name that an update leaves out (A16)', async () => {
    const made = nameless('clears');
    const { service, run, show } = made;
    clearNames(made);
    rename(made, 3n, 'Cher');
    rename(made, 4n, '');
    const { notes } = await run();
    expect(service.updates).toEqual([
      new Map<Id, UserPatch>([
        [1n, { name: robin.name, email: 'new1@example.com' }],
        [2n, { name: { first: 'Anne', last: 'Berg' }, email: 'new2@example.com' }],
      ]),
      new Map<Id, UserPatch>([
        [3n, { name: { first: 'Cher', last: '' }, email: 'new3@example.com' }],
        [4n, { email: 'new4@example.com' }],
      ]),
    ]);
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 5 } });
    expect(show(2n)).toMatchObject({
      service: { name: 'Anne Berg' },
      base: { joined: 'Anne Berg' },
      held: [],
    });
    expect((await run()).notes.counts).toEqual({});
    expect(service.updates).toEqual([]);
  });
});

describe('an answer 5xx', () => {
  it.each([500, 502, 503])(
    'makes the run read users again after a %i, and confirm a push that had an effect (N18)',
    async (status) => {
      const { service, mirror, run, show } = createStage({ users: 2 });
      for (const id of [1n, 2n]) mirror.edit(id, { roleId: 9n });
      service.fault = () => ({ kind: 'status', status, applied: [2n] });
      await run();
      expect(show(2n)).toMatchObject({ open: undefined, base: { roleId: 9n } });
      expect(show(1n)).toMatchObject({ open: { roleId: 9n }, base: { roleId: 3n } });
    },
  );
});

it('A run that is stopped before it sends an update ends at once, and leaves no push open', async () => {
  const { service, mirror, run, show } = createStage();
  mirror.edit(1n, { email: robin.email });
  service.beforeDispatch = () => Promise.reject(new MusterdError('stopped', 'somebody asked for it'));
  const { error } = await run();
  expect(error).toMatchObject({ code: 'stopped' });
  expect(show(1n)).toMatchObject({ open: undefined, held: [], base: { email: 'user1@example.com' } });
});

describe('a field that the service no longer shows', () => {
  const odd = { unreadable: '{}' };
  /** From the lookup with this number on, the service does not show the field. */
  const hideFrom = (
    { service }: ReturnType<typeof createStage>,
    lookup: number,
    hide: (user: ServiceUser) => ServiceUser,
  ) => {
    const { users } = service;
    let lookups = 0;
    service.users = async (filter) => {
      const answer = await users(filter);
      lookups += 1;
      return lookups < lookup ? answer : { ...answer, users: answer.users.map(hide) };
    };
  };
  const hidden = [
    ['unreadable', (user: ServiceUser) => ({ ...user, phone: odd })],
    ['left out', (user: ServiceUser) => without('phone', user)],
  ] as const;

  it.each(hidden)('waits unsent if it is not readable right before the push: %s', async (_, hide) => {
    const made = createStage({ users: 2 });
    made.mirror.edit(1n, { email: robin.email, phone: robin.phone });
    made.mirror.edit(2n, { roleId: 9n });
    hideFrom(made, 1, hide);
    const { notes } = await made.run();
    expect(made.service.updates).toEqual([
      new Map<Id, UserPatch>([
        [1n, { email: robin.email }],
        [2n, { roleId: 9n }],
      ]),
    ]);
    expect(made.show(1n)).toMatchObject({ row: { phone: robin.phone }, base: { phone: '15550101' } });
    expect(notes.reasons).toEqual(['1 users wait: a field could not be read again before a push']);
  });

  it('makes the run partial and stops an update that needs the name, if the service leaves the name out', async () => {
    const made = createStage();
    made.mirror.edit(1n, { email: robin.email });
    made.mirror.nameSafety = 'clears';
    hideFrom(made, 1, (user) => without('name', user));
    const { notes } = await made.run();
    expect(made.service.updates).toEqual([]);
    expect(notes.reasons).toEqual([expect.stringContaining('the service does not show it now')]);
  });
});

describe('an incomplete answer', () => {
  it('makes the run look up a user whom the answer lacks, and keep the push open if the value is not shown (A17)', async () => {
    const { service, mirror, run, show } = createStage({ users: 3 });
    for (const id of [1n, 2n, 3n]) mirror.edit(id, { roleId: 9n });
    service.answer = (user) => (user.id === 3n ? user : undefined);
    service.take = (user, patch) => (user.id === 2n ? user : { ...user, roleId: patch.roleId ?? null });
    const { notes } = await run();
    expect([1n, 2n, 3n].map((id) => show(id).base?.roleId)).toEqual([9n, 3n, 9n]);
    expect(show(2n).open).toEqual({ roleId: 9n });
    expect(notes.counts).toEqual({ pushed: 2, unknown: 1 });
    expect(service.updates).toHaveLength(1);
  });

  it('keeps the push of a field open if the answer leaves out the field, until a lookup shows the field', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email, phone: robin.phone });
    service.answer = (user) => without('phone', user);
    const { notes } = await run();
    expect(show(1n)).toMatchObject({ open: { phone: robin.phone }, base: { email: 'robin@example.com' } });
    expect(notes.counts).toEqual({ pushed: 1, unknown: 1 });
    // The lookup shows it.
    expect((await run()).notes).toMatchObject({ reasons: [], counts: { pushed: 1 } });
  });
});

describe('pushEdits after a push without effect', () => {
  it('sends the value three times in all, and then holds the field (A20)', async () => {
    const { service, mirror, run, show } = createStage({ users: 2 });
    mirror.edit(1n, { email: robin.email });
    service.take = (user) => user;
    for (let tried = 0; tried < 2; tried += 1) {
      const { notes } = await run();
      expect(service.updates).toHaveLength(1);
      expect(notes).toMatchObject({
        counts: { ineffective: 1 },
        reasons: ['a push to user 1 had no effect and will be tried again'],
      });
      expect(show(1n)).toMatchObject({ held: [], base: { email: 'user1@example.com' } });
    }
    const { notes } = await run();
    expect(notes).toMatchObject({ counts: { ineffective: 1, held: 1 }, reasons: [] });
    expect(show(1n)).toMatchObject({
      row: { email: robin.email },
      base: { email: 'user1@example.com' },
      held: [
        {
          field: 'email',
          reason: 'ineffective',
          detail: expect.stringContaining('pushed 3 times without effect or answer: sent') as string,
        },
      ],
    });
    expect((await run()).notes.counts).toEqual({});
    expect(service.updates).toEqual([]);
  });
});

describe('pushEdits with a row that an editor has locked', () => {
  it('confirms the push in the next run if the row is locked when the answer comes', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: robin.email });
    mirror.checkLease = async () => {
      mirror.locked = new Set([1n]);
    };
    const first = await run();
    expect(first.notes.counts).toEqual({});
    expect(first.notes.reasons).toEqual(['user 1 is being edited: the push is confirmed later']);
    expect(show(1n).open).toEqual({ email: robin.email });
    mirror.checkLease = () => Promise.resolve();
    mirror.locked = new Set();
    const second = await run();
    expect(second.notes.counts).toEqual({ pushed: 1 });
    expect(service.updates).toEqual([]);
    expect(show(1n)).toMatchObject({ open: undefined, base: { email: 'robin@example.com' } });
  });

  it('makes the run partial if the row is locked when its push is recorded, and sends other pushes', async () => {
    const { service, mirror, run } = createStage({ users: 2 });
    for (const id of [1n, 2n]) mirror.edit(id, { email: `robin${id}@example.com` });
    mirror.locked = new Set([1n]);
    const { notes } = await run();
    expect(notes.reasons).toEqual(['1 users were being edited and wait for the next run']);
    expect(notes.counts).toEqual({ deferred: 1, pushed: 1 });
    expect(sentIds(service.updates)).toEqual([[2n]]);
    mirror.locked = new Set();
    expect((await run()).notes.counts).toEqual({ pushed: 1 });
  });

  it('makes the run partial if the row is locked when its user is read again', async () => {
    const { service, mirror, run } = createStage();
    mirror.edit(1n, { email: robin.email });
    const { ...as } = mirror;
    mirror.applyUsers = (plans) => {
      mirror.applyUsers = () => {
        mirror.applyUsers = (later) => as.applyUsers(later);
        return Promise.resolve([1n]);
      };
      return as.applyUsers(plans);
    };
    const { notes } = await run();
    expect(notes.reasons).toEqual(['1 users were being edited and wait for the next run']);
    expect(notes.counts).toEqual({ deferred: 1 });
    expect(service.updates).toEqual([]);
    expect((await run()).notes.counts).toEqual({ pushed: 1 });
  });
});

describe('the run after a run that ended early', () => {
  it('closes a recorded push whose request never left, and sends the value as a first try (R1)', async () => {
    const { service, mirror, run, show } = createStage();
    mirror.edit(1n, { email: 'robin@example.com' });
    const isAlive = mirror.checkLease;
    mirror.checkLease = () => Promise.reject(new MusterdError('lease-lost', 'it stalled'));
    // As often as it takes to hold a field that is pushed to no effect.
    for (let tries = 1; tries <= 3; tries += 1) {
      const { error } = await run();
      expect(error).toMatchObject({ code: 'lease-lost' });
      expect(show(1n).open).toEqual({ email: 'robin@example.com' });
    }
    mirror.checkLease = isAlive;
    service.filters.length = 0;
    const { notes } = await run();
    expect(mirror.results.map(({ outcomes }) => outcomes.email)).toEqual([
      'unsent',
      'unsent',
      'unsent',
      'confirmed',
    ]);
    expect(notes).toMatchObject({ reasons: [], counts: { pushed: 1 } });
    // Nothing was looked up but what is read right before the push.
    expect(service.filters).toHaveLength(1);
  });
});
