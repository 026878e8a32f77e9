import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { faultKinds, faultSettings, faultTable, parseFaults } from '../../src/emulator/faults/faults.ts';
import { type Called, call, secretOf, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

/** The machine's clock stands still: only a test moves the emulator's. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T12:30:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

const update = (emulator: Emulator, ...updates: readonly object[]): Promise<Called> =>
  call(emulator, 'POST /v1/users/update', { users: updates });

const idsIn = (answer: Called): readonly unknown[] => {
  const { memberships, members } = answer.json as Record<
    'memberships' | 'members',
    { id: number }[] | undefined
  >;
  return (memberships ?? members ?? (answer.json as { id: number }[])).map(({ id }) => id);
};

const firstFour = ({ team }: Emulator) => team.users().flatMap(({ id }, at) => (at < 4 ? id : []));

/** The code of the error in which the call ends; fails when it ends in an answer. */
async function broken(called: Promise<Called>): Promise<string> {
  const error: unknown = await called.then(
    (answer) => new Error(`answered ${answer.status}`),
    (reason: unknown) => reason,
  );
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

describe('faults instead of an answer', () => {
  it.each([
    ['too-many-requests', 429, '"too many requests"'],
    ['status,code=502', 502, '"error"'],
    ['status,code=403,label=link_tracking_not_available', 403, '"link_tracking_not_available"'],
    ['redirect,location=/v1/team', 302, '"moved"'],
  ])('fault %s answers %i, and writes nothing', (text, status, body) =>
    withEmulator({ faults: parseFaults([text]) }, async (emulator) => {
      const id = emulator.team.users()[0]?.id ?? 0;
      const answer = await update(emulator, { id, email: 'new@example.com' });
      expect([answer.status, answer.text]).toEqual([status, body]);
      expect(answer.headers['x-request-id']).toBe(emulator.requests[0]?.requestId);
      expect(emulator.team.user(id).email).not.toBe('new@example.com');
      expect(emulator.requests[0]).toMatchObject({ status, faults: [text.split(',')[0]] });
      expect((await update(emulator, { id, email: 'new@example.com' })).status).toBe(200);
    }),
  );

  it('the fault too-many-requests sends the given Retry-After, or no header', async ({ emulator, ask }) => {
    const retryAfter = async (value: string): Promise<unknown> => {
      emulator.addFault({ kind: 'too-many-requests', 'retry-after': value });
      return (await ask('GET /v1/team')).headers['retry-after'];
    };
    expect(await retryAfter('absent')).toBeUndefined();
    expect(await retryAfter('7')).toBe('7');
    expect(await retryAfter('-1 fortnight')).toBe('-1 fortnight');
    expect(await retryAfter('date:90')).toBe('Tue, 01 Jan 2030 12:31:30 GMT');
  });

  it('the faults html and garbage answer 200, and update only if effect=applied', async ({ emulator }) => {
    const id = emulator.team.users()[0]?.id ?? 0;
    emulator.addFault({ kind: 'html' });
    const html = await update(emulator, { id, role_id: 17 });
    expect(html).toMatchObject({ status: 200, json: undefined });
    expect(html.headers['content-type']).toContain('text/html');
    expect(emulator.team.user(id).roleId).toBe(2);
    emulator.addFault({ kind: 'garbage', effect: 'applied' });
    expect(await update(emulator, { id, role_id: 17 })).toMatchObject({ status: 200, json: undefined });
    expect(emulator.team.user(id).roleId).toBe(17);
  });
});

describe('faults of the connection', () => {
  it.each([
    ['reset-before', false],
    ['reset-in', true],
    ['reset-after', true],
    ['truncate,percent-sent=30', true],
    ['truncate,percent-sent=0', true],
  ] as const)('the fault %s cuts the connection of one update (user updated: %s)', (text, applied) =>
    withEmulator({ faults: parseFaults([text]) }, async (emulator) => {
      const id = emulator.team.users()[1]?.id ?? 0;
      const reason = await broken(update(emulator, { id, first_name: 'Cut', last_name: 'Off' }));
      expect(reason).toMatch(/^(ECONNRESET|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/);
      expect(emulator.team.user(id).first === 'Cut').toBe(applied);
      expect(emulator.requests[0]?.status).toBeUndefined();
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
    }),
  );

  it('the fault drip sends the complete answer, piece by piece', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'drip', bytes: 400, 'every-ms': 1 });
    const dripped = await ask('GET /v1/team');
    expect(dripped.text).toBe((await ask('GET /v1/team')).text);
  });

  it('the fault oversize pads an answer to the given size', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'oversize', bytes: 3_000_000 });
    const padded = await ask('POST /v1/contacts/count', {});
    expect([padded.text.length, padded.json]).toEqual([3_000_000, '312456']);
  });

  it('the fault stall with effect=applied updates the user, but sends no answer until the emulator closes', async () => {
    await withEmulator({}, async (emulator) => {
      emulator.addFault({ kind: 'stall', effect: 'applied' });
      const id = emulator.team.users()[0]?.id ?? 0;
      const happened = new Promise<void>((resolve) => {
        emulator.after({ path: '/v1/users/update' }, () => resolve());
      });
      const stalled = broken(update(emulator, { id, role_id: 17 }));
      await happened;
      await emulator.close();
      expect(await stalled).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
      expect(emulator.team.user(id).roleId).toBe(17);
    });
  });

  it('the fault delay answers only after the given time', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'delay', ms: 60, path: '/v1/team' });
    const order: string[] = [];
    // The same time, and earlier: it is over first.
    AbortSignal.timeout(60).addEventListener('abort', () => order.push('over'));
    await ask('GET /v1/team').then(() => order.push('answered'));
    expect(order).toEqual(['over', 'answered']);
  });
});

describe('faults of the content', () => {
  it('the fault wrong-team answers with the id and the users of another team', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'wrong-team', times: 2 });
    expect((await ask('GET /v1/team')).json).not.toMatchObject({ id: emulator.team.id });
    const strangers = idsIn(await ask('GET /v1/users/get', {}));
    expect(strangers.length).toBeGreaterThan(0);
    const own = emulator.team.users().map((user) => user.id);
    expect(own.some((id) => strangers.includes(id))).toBe(false);
    expect((await ask('GET /v1/team')).json).toMatchObject({ id: emulator.team.id });
  });

  it('the fault empty answers empty lists, and the fault shrink hides the same rows in each answer', () =>
    withEmulator({ users: 60, tags: 60 }, async (emulator) => {
      emulator.addFault({ kind: 'empty', times: 5 });
      for (const operation of [
        'GET /v1/team',
        'GET /v1/inboxes',
        'POST /v1/tags',
        'POST /v1/contact-fields',
      ]) {
        expect([operation, idsIn(await call(emulator, operation))]).toEqual([operation, []]);
      }
      expect(idsIn(await call(emulator, 'GET /v1/users/get', {}))).toEqual([]);
      emulator.addFault({ kind: 'shrink', keep: 40, times: 'always' });
      const listed = idsIn(await call(emulator, 'GET /v1/team'));
      expect(listed.length).toBeGreaterThan(5);
      expect(listed.length).toBeLessThan(50);
      expect(idsIn(await call(emulator, 'GET /v1/users/get', {}))).toEqual(listed);
      const tags = idsIn(await call(emulator, 'POST /v1/tags', { limit: 100 }));
      expect(tags.length).toBeLessThan(50);
      const hidden = emulator.team.tags().find((tag) => !tags.includes(tag.id));
      expect((await call(emulator, `GET /v1/tag/${hidden?.id}`)).status).toBe(200);
      emulator.clearFaults();
      expect(idsIn(await call(emulator, 'GET /v1/team'))).toHaveLength(60);
    }));

  it('the faults partial-answer, reorder and repeat change the answer, but not what the update writes', () =>
    withEmulator({}, async (emulator) => {
      const ids = firstFour(emulator);
      const all = (role: number): Promise<Called> =>
        update(emulator, ...ids.map((id) => ({ id, role_id: role })));
      emulator.addFault({ kind: 'partial-answer', keep: 50 });
      expect(idsIn(await all(17))).toEqual(ids.slice(0, 2));
      expect(ids.map((id) => emulator.team.user(id).roleId)).toEqual([17, 17, 17, 17]);
      emulator.addFault({ kind: 'reorder' });
      expect(idsIn(await all(23))).toEqual(ids.toReversed());
      emulator.addFault({ kind: 'repeat' });
      expect(idsIn(await all(1))).toHaveLength(8);
    }));

  it('the fault partial-apply writes some users and fields, but returns all users', async ({ emulator }) => {
    const ids = firstFour(emulator);
    emulator.addFault({ kind: 'partial-apply', keep: 50, skip: 'name' });
    const answer = await update(
      emulator,
      ...ids.map((id) => ({ id, first_name: 'New', last_name: 'Name', role_id: 23 })),
    );
    expect(idsIn(answer)).toEqual(ids);
    expect(ids.map((id) => emulator.team.user(id).roleId === 23)).toEqual([true, true, false, false]);
    expect(ids.some((id) => emulator.team.user(id).first === 'New')).toBe(false);
  });

  it.each([
    ['ok', 200],
    ['504', 504],
    ['reset', 0],
    ['stall', 0],
  ] as const)('the fault late writes an update two requests later (answer=%s)', (answer, status) =>
    withEmulator({}, async (emulator) => {
      const id = emulator.team.users()[0]?.id ?? 0;
      emulator.addFault({ kind: 'late', answer, requests: 2, path: '/v1/users/update' });
      const called = update(emulator, { id, role_id: 23 });
      const ended = status === 0 ? broken(called) : called;
      if (answer === 'reset') expect(await ended).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
      if (status !== 0) expect((await called).status).toBe(status);
      if (status === 200) expect((await called).json).toMatchObject({ memberships: [{ role_id: 23 }] });
      const role = async (): Promise<unknown> => {
        const { json } = await call(emulator, 'GET /v1/users/get', { email: [emulator.team.user(id).email] });
        return (json as { memberships: { role_id: number }[] }).memberships[0]?.role_id;
      };
      while (emulator.requests.length < 1) await new Promise(setImmediate);
      expect([await role(), await role(), await role()]).toEqual([2, 23, 23]);
      if (answer !== 'stall') return;
      await emulator.close();
      expect(await ended).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    }),
  );

  it('the fault late writes an update after the given time, or when a test calls applyLateWrites', async ({
    emulator,
    ask,
  }) => {
    const [a, b] = emulator.team.users().map((user) => user.id);
    emulator.addFault({ kind: 'late', answer: '504', requests: 1, ms: 60_000, times: 2 });
    await update(emulator, { id: a, role_id: 23 });
    await ask('POST /v1/tag', { tag: 'late tag' });
    expect(emulator.team.user(a ?? 0).roleId).toBe(2);
    emulator.clock.advance(61_000);
    await ask('GET /v1/team', undefined, null);
    expect(emulator.team.user(a ?? 0).roleId).toBe(23);
    expect(emulator.team.tags().at(-1)?.tag).toBe('late tag');
    emulator.addFault({ kind: 'late', answer: 'ok', requests: 1000 });
    emulator.clock.advance(-61_000);
    await update(emulator, { id: b, role_id: 23 });
    expect(emulator.team.user(b ?? 0).roleId).not.toBe(23);
    emulator.applyLateWrites();
    expect(emulator.team.user(b ?? 0).roleId).toBe(23);
  });

  it.each(['/v1/tags', '/v1/contact-fields'])('the fault drift shifts rows of %s to another page', (path) =>
    withEmulator({ tags: 12, fields: 12 }, async (emulator) => {
      const page = async (at: number): Promise<readonly unknown[]> =>
        idsIn(await call(emulator, `POST ${path}`, { limit: 4, page: at }));
      const first = await page(0);
      const second = await page(1);
      emulator.addFault({ kind: 'drift', action: 'add' });
      expect(await page(1)).toEqual([first[3], ...second.slice(0, 3)]);
      emulator.addFault({ kind: 'drift', action: 'remove' });
      expect(await page(1)).toEqual(second);
      emulator.addFault({ kind: 'drift', action: 'touch' });
      expect((await page(0)).length).toBe(4);
    }),
  );

  it('the fault edit edits a user before or after the request, as `when` sets', async ({ emulator }) => {
    const [a, b] = emulator.team.users();
    for (const fault of parseFaults([
      'edit,path=/v1/users/update,field=email,value=web@example.com,user=1,when=before',
      'edit,path=/v1/users/update,field=first,value=Later,user=1,when=after',
      `edit,path=/v1/users/update,at=2,field=phone,value=,user=${b?.id}`,
      `edit,path=/v1/users/update,at=2,field=role_id,value=1042,user=${b?.id}`,
    ])) {
      emulator.addFault(fault);
    }
    const answer = await update(emulator, { id: a?.id, first_name: 'Sent', last_name: 'Sent' });
    expect(answer.json).toMatchObject({ memberships: [{ name: 'Sent Sent', email: 'web@example.com' }] });
    expect(emulator.team.user(a?.id ?? 0)).toMatchObject({ first: 'Later', last: 'Sent' });
    await update(emulator);
    expect(emulator.team.user(b?.id ?? 0)).toMatchObject({ phone: null, roleId: 1042 });
  });

  it('the fault clock-skew moves the Date header and the expiry of tokens', () =>
    withEmulator({ faults: parseFaults(['clock-skew,seconds=400']) }, async (emulator) => {
      const first = await call(emulator, 'GET /v1/team');
      expect(first.headers['date']).toBe('Tue, 01 Jan 2030 12:36:40 GMT');
      const own = token(secretOf(emulator.environment), { iat: Math.floor(Date.now() / 1000) + 400 });
      expect((await call(emulator, 'GET /v1/team')).status).toBe(401);
      expect((await call(emulator, 'GET /v1/team', undefined, own)).status).toBe(200);
    }));
});

it('a fault changes only requests of its method, path, number, share and team', async ({ emulator, ask }) => {
  const played = async (count: number, operation = 'GET /v1/team'): Promise<string> => {
    let text = '';
    for (let at = 0; at < count; at += 1) text += (await ask(operation)).status === 503 ? 'x' : '.';
    return text;
  };
  emulator.addFault({ kind: 'status', path: '/v1/team', at: 3, times: 2 });
  expect(await played(6)).toBe('..xx..');
  emulator.addFault({ kind: 'status', path: '/v1/t*', method: 'POST', times: 'always' });
  expect([await played(2), await played(2, 'POST /v1/tags')]).toEqual(['..', 'xx']);
  emulator.clearFaults();
  emulator.addFault({ kind: 'status', times: 'always', percent: 30 });
  const lots = await played(60);
  expect(lots.split('x').length - 1).toBeGreaterThan(8);
  expect(lots.split('x').length - 1).toBeLessThan(30);
  emulator.clearFaults();
  const away = emulator.addFault({ kind: 'status', times: 'always', team: emulator.team.id + 1 });
  expect(await played(2)).toBe('..');
  away();
});

describe('parseFaults', () => {
  it('parses every kind of fault with all its parameters', () => {
    for (const kind of faultKinds) {
      const parameters = Object.entries(faultTable[kind].parameters).map(
        ([name, value]) => `${name}=${value}`,
      );
      const [fault] = parseFaults([[kind, ...parameters, 'at=2', 'times=always', 'path=/v1/x'].join(',')]);
      expect(fault).toEqual({ kind, ...faultTable[kind].parameters, at: 2, times: 'always', path: '/v1/x' });
      expect(faultTable[kind].plays.length).toBeGreaterThan(10);
    }
  });

  it('faultSettings lists the parameters of a fault with their default values', () => {
    expect(faultSettings('status')).toBe('code=503, label=error, effect=none|applied');
    expect(faultSettings('reset-before')).toBe('');
  });

  it('parseFaults throws an error with the valid names and values if a fault is invalid', () => {
    expect(() => parseFaults(['explode'])).toThrow(/no fault "explode"\. Valid: too-many-requests, /);
    expect(() => parseFaults(['drip,byte=1'])).toThrow(/no "byte"\. Valid: bytes, every-ms, method, /);
    expect(() => parseFaults(['drip,bytes'])).toThrow('"bytes" in the fault "drip,bytes" is not name=value');
    expect(() => parseFaults(['drip,bytes=x'])).toThrow('bytes of the fault drip is a whole number, not "x"');
    expect(() => parseFaults(['html,effect=maybe'])).toThrow('Valid: none, applied.');
    expect(() => parseFaults(['html,times=often'])).toThrow('times of the fault html is a whole number');
  });
});
