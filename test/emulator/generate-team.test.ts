import { describe, expect, it } from 'vitest';
import { oddNames } from '../../src/emulator/rules/person-names.ts';
import { withEmulator } from './with-emulator.ts';

describe('the generator of a team', () => {
  it('makes the same team from the same seed, and another team from another seed', async () => {
    const look = (seed: number): Promise<string> =>
      withEmulator({ seed, users: 50 }, async ({ team }) =>
        JSON.stringify([
          team.users(),
          team.tags(),
          team.fields(),
          team.surveys(),
          team.inboxes(),
          team.environment['MUSTERD_SECRET_KEY'],
        ]),
      );
    expect(await look(7)).toBe(await look(7));
    expect(await look(8)).not.toBe(await look(7));
  });

  it('makes a team with several roles, odd names, blank values, and unique emails and phones', () =>
    withEmulator({ users: 400, tags: 1200, fields: 60 }, async ({ team }) => {
      const users = team.users();
      expect(users).toHaveLength(400);
      expect(new Set(users.map((user) => user.roleId)).size).toBeGreaterThanOrEqual(5);
      for (const odd of oddNames)
        expect(users.some((user) => user.first === odd.first && user.last === odd.last)).toBe(true);
      for (const key of ['email', 'phone'] as const) {
        const values = users.flatMap((user) => user[key] ?? []);
        expect(new Set(values).size).toBe(values.length);
        expect(values.length).toBeLessThan(400);
        expect(values.length).toBeGreaterThan(300);
      }
      expect(users.every((user) => user.phone === null || /^\d{10,12}$/.test(user.phone))).toBe(true);
      expect(users.some((user) => user.email === null && user.phone === null)).toBe(true);
      expect(team.tags()).toHaveLength(1200);
      expect(new Set(team.tags().map((tag) => JSON.stringify(tag.updated))).size).toBeLessThan(1200);
      expect(new Set(team.fields().map((field) => field.title)).size).toBe(60);
    }));
});
