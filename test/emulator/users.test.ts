import { describe, expect } from 'vitest';
import { memberships } from '../../src/emulator/wire/answer-schemas.ts';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { badRequest, call, type Called } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

const users = (answer: Called): readonly Readonly<Record<string, unknown>>[] =>
  (answer.json as { readonly memberships: Record<string, unknown>[] }).memberships;

const get = (emulator: Emulator, filter: unknown): Promise<Called> =>
  call(emulator, 'GET /v1/users/get', filter);

const update = (emulator: Emulator, ...updates: readonly object[]): Promise<Called> =>
  call(emulator, 'POST /v1/users/update', { users: updates });

describe('GET /v1/users/get', () => {
  it('returns the users whose email or phone is in the body of the GET', async ({ emulator }) => {
    const [one, two] = emulator.team.users().filter((user) => user.email !== null && user.phone !== null);
    const answer = await get(emulator, { email: [one?.email?.toUpperCase()], phone: [two?.phone] });
    expect(users(answer).map((user) => user['id'])).toEqual([one?.id, two?.id]);
    expect(memberships.safeParse(answer.json).success).toBe(true);
    emulator.setVariants({ 'email-lookup': 'exact' });
    expect(users(await get(emulator, { email: [`${one?.email?.toUpperCase()}`] }))).toEqual([]);
  });

  it('accepts null, [] and {} in a body, but answers 400 to a mistyped filter', async ({ emulator }) => {
    expect(users(await get(emulator, { email: [null] }))).toEqual([]);
    expect(users(await get(emulator, []))).toHaveLength(20);
    expect(users(await get(emulator, {}))).toHaveLength(20);
    for (const body of [undefined, '{', '"x"', '1', 'null', { email: 'a@b' }, { phone: [1] }, [1]]) {
      expect(await get(emulator, body)).toMatchObject(badRequest);
    }
  });

  it('without a filter, returns as many users as unfiltered-users sets, or 400', async ({ emulator }) => {
    emulator.setVariants({ 'unfiltered-users': 'none' });
    expect(users(await get(emulator, {}))).toEqual([]);
    emulator.setVariants({ 'unfiltered-users': 7 });
    expect(users(await get(emulator, {}))).toHaveLength(7);
    emulator.setVariants({ 'unfiltered-users': 'refuse' });
    expect((await get(emulator, {})).status).toBe(400);
  });

  it('answers with blank, null, missing and extra fields as the variants set', () =>
    withEmulator({ users: 60, seed: 3 }, async (emulator) => {
      const blank = emulator.team.users().find((user) => user.phone === null)?.id;
      const phoneOf = async (): Promise<unknown> =>
        users(await get(emulator, {})).find((user) => user['id'] === blank)?.['phone'];
      expect(await phoneOf()).toBe('');
      emulator.setVariants({ blank: 'null' });
      expect(await phoneOf()).toBeNull();
      emulator.setVariants({ blank: 'absent' });
      expect(await phoneOf()).toBeUndefined();
      emulator.setVariants({
        phones: 'plus',
        nulls: 'some',
        'missing-fields': 'some',
        'extra-fields': 'some',
        fraction: '9',
      });
      const seen = users(await get(emulator, {}));
      expect(seen.some((user) => String(user['phone']).startsWith('+'))).toBe(true);
      expect(seen.some((user) => user['created_at'] === null)).toBe(true);
      expect(seen.some((user) => !('created_at' in user))).toBe(true);
      expect(seen.every((user) => '__v' in user && 'id' in user && 'name' in user)).toBe(true);
      expect(seen.some((user) => /\.\d{9}Z$/.test(String(user['updated_at'])))).toBe(true);
    }));
});

describe('POST /v1/users/update', () => {
  it('empties the half of a name that an update leaves out', async ({ emulator }) => {
    const { id } = emulator.team.addUser({ first: 'Anne Marie', last: 'Berg' });
    const answer = await update(emulator, { id, first_name: 'Anna' });
    expect(users(answer)).toMatchObject([{ id, name: 'Anna' }]);
    expect(emulator.team.user(id)).toMatchObject({ first: 'Anna', last: '' });
    await update(emulator, { id, last_name: ' Berg ' });
    expect(emulator.team.user(id)).toMatchObject({ first: '', last: ' Berg ' });
    expect(users(await update(emulator, { id, first_name: 'Anne', last_name: 'Marie  Berg' }))).toMatchObject(
      [{ name: 'Anne Marie  Berg' }],
    );
  });

  it('keeps fields that an update leaves out, and sets a later updated_at', async ({ emulator }) => {
    const before = emulator.team.users()[2];
    const id = before?.id ?? 0;
    const [first] = users(await update(emulator, { id, role_id: 1 }));
    expect(emulator.team.user(id)).toMatchObject({ first: before?.first, last: before?.last, roleId: 1 });
    const [second] = users(await update(emulator, { id, email: 'New@Example.com', phone: '' }));
    expect(second).toMatchObject({ email: 'New@Example.com', phone: '', role_id: 1 });
    expect(String(second?.['updated_at']) > String(first?.['updated_at'])).toBe(true);
    expect(users(await get(emulator, { email: ['new@example.com'] }))).toHaveLength(1);
    expect(users(await get(emulator, { email: [before?.email] }))).toHaveLength(0);
  });

  it('answers 400 and writes nothing if one user of the request is invalid', async ({ emulator, ask }) => {
    const id = emulator.team.users()[1]?.id ?? 0;
    const good = { id, email: 'good@example.com' };
    const before = emulator.team.user(id);
    const bad = [
      { id: 5, email: 'x@example.com' },
      { email: 'x@example.com' },
      { id: String(id) },
      { id, email: 'no-at' },
      { id, phone: '+41' },
      { id, role_id: 999 },
      { id, role_id: 'admin' },
      { id, first_name: null },
    ];
    for (const one of bad) expect(await update(emulator, good, one)).toMatchObject(badRequest);
    expect(await ask('POST /v1/users/update', { user: [good] })).toMatchObject({ status: 400 });
    expect(emulator.team.user(id)).toEqual(before);
    emulator.setVariants({ 'refused-update': 'prefix' });
    expect((await update(emulator, good, { id: 5 })).status).toBe(400);
    expect(emulator.team.user(id).email).toBe('good@example.com');
    emulator.setVariants({ 'unknown-user': 'skip' });
    expect(users(await update(emulator, { id: 5 }, good)).map((user) => user['id'])).toEqual([id]);
  });

  it('normalises, cuts or clears written values as the variants set', async ({ emulator }) => {
    const { id } = emulator.team.addUser({ first: 'A', last: 'B' });
    emulator.setVariants({
      'email-case': 'lowered',
      'phone-writes': 'digits',
      'name-spaces': 'collapsed',
      'name-cap': 5,
    });
    const sent = {
      id,
      first_name: ' Li  Na ',
      last_name: 'Wolfeschlegel',
      email: 'ABC@X.org',
      phone: '+1 (415) 5',
    };
    expect(users(await update(emulator, sent))).toMatchObject([
      { name: 'Li Na Wolfe', email: 'abc@x.org', phone: '14155' },
    ]);
    const stamp = emulator.team.user(id).updated;
    emulator.setVariants({ 'email-update': 'clears-name', 'updated-at': 'stuck' });
    expect(users(await update(emulator, { id, role_id: 1 }))).toMatchObject([{ name: '', role_id: 1 }]);
    expect(emulator.team.user(id).updated).toEqual(stamp);
  });
});

describe('the methods of the emulator and its team', () => {
  it('edits, removes and hides users as the web app does', async ({ emulator, ask }) => {
    const { team } = emulator;
    const [a, b, c] = team.users();
    team.editUser(a?.id ?? 0, { first: 'Web', last: 'App' });
    team.showUser(b?.id ?? 0, { answered: false });
    team.removeUser(c?.id ?? 0);
    const added = team.addUser({ first: 'Only', last: 'Looked Up', email: 'o@x.org', listed: false });
    const answered = users(await get(emulator, {}));
    const { members } = (await ask('GET /v1/team')).json as {
      members: { id: number; name: string }[];
    };
    expect(members.find((member) => member.id === a?.id)?.name).toBe('Web App');
    expect(members.map((member) => member.id)).not.toContain(c?.id);
    expect(members.map((member) => member.id)).not.toContain(added.id);
    expect(members.map((member) => member.id)).toContain(b?.id);
    expect(answered.map((user) => user['id'])).not.toContain(b?.id);
    expect(users(await get(emulator, { email: ['o@x.org'] }))).toHaveLength(1);
  });

  it('runs hooks before and after the n-th request to a path, and rewrites answers', async ({
    emulator,
    ask,
  }) => {
    const id = emulator.team.users()[0]?.id ?? 0;
    const events: string[] = [];
    emulator.before({ path: '/v1/users/update', at: 2 }, () => {
      events.push(`before ${emulator.team.user(id).first}`);
    });
    const away = emulator.after({ path: '/v1/users/*', times: 'always' }, async (request) => {
      await Promise.resolve();
      events.push(`after ${request.path} ${emulator.team.user(id).first}`);
    });
    await update(emulator, { id, first_name: 'One', last_name: '' });
    await update(emulator, { id, first_name: 'Two', last_name: '' });
    away();
    await get(emulator, {});
    expect(events).toEqual(['after /v1/users/update One', 'before One', 'after /v1/users/update Two']);
    emulator.rewrite({ path: '/v1/team' }, (body) => body.replace(/"id":\d+/, '"id":9007199254740993'));
    expect((await ask('GET /v1/team')).text).toContain('9007199254740993');
    expect(emulator.requests.map(({ method, path, status }) => `${method} ${path} ${status}`)).toEqual([
      'POST /v1/users/update 200',
      'POST /v1/users/update 200',
      'GET /v1/users/get 200',
      'GET /v1/team 200',
    ]);
    expect(emulator.requests[1]?.body).toEqual({ users: [{ id, first_name: 'Two', last_name: '' }] });
  });
});
