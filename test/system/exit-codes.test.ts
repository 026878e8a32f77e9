import { describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();

interface Situation extends StageOptions {
  /** What happens after the first run. */
  readonly happens: (
    stage: Stage,
    musterd: (...args: readonly string[]) => Promise<number | null>,
  ) => unknown;
  /** Of `plan`, `plan --exit-code`, `verify`, then of `reconcile` and the same once more. */
  readonly codes: readonly [plan: number, changes: number, verify: number, run: number, again: number];
}

const editEmail = async (stage: Stage, where = `id = ${stage.userAt().id}`) =>
  await stage.sql(`update mirror.users set email = 'mirror' || id || '@example.com' where ${where}`);
const conflict = async (stage: Stage) => {
  stage.emulator.team.editUser(stage.userAt().id, { email: 'service@example.com' });
  await editEmail(stage);
};
const many = 'id in (select id from mirror.users where email is not null order by id limit 20)';

const situations: Readonly<Record<string, Situation>> = {
  'all commands exit 0 if nothing has changed': { happens: () => undefined, codes: [0, 0, 0, 0, 0] },
  'all commands exit 0 if no lookup finds a member of the team': {
    emulator: { variants: { 'unfiltered-users': 'none' } },
    happens: (stage) => stage.emulator.team.showUser(stage.userAt().id, { answered: false }),
    codes: [0, 0, 0, 0, 0],
  },
  'plan --exit-code exits 2 if an edit of the mirror waits to be pushed': {
    happens: (stage) => editEmail(stage),
    codes: [0, 2, 0, 0, 0],
  },
  'plan --exit-code exits 2 and verify exits 1 if a change of the service waits to be pulled': {
    happens: (stage) => stage.emulator.team.editUser(stage.userAt().id, { email: 'service@example.com' }),
    codes: [0, 2, 1, 0, 0],
  },
  'plan and reconcile exit 3 if both sides changed a field': { happens: conflict, codes: [3, 2, 0, 3, 3] },
  'plan and reconcile exit 3 if a field is held': {
    happens: async (stage) => {
      await conflict(stage);
      await stage.run();
    },
    codes: [3, 3, 0, 3, 3],
  },
  'all commands exit 0 if a field is held because a person asked for the hold': {
    happens: async (stage, musterd) => {
      await musterd('hold', String(stage.userAt().id), 'email', '--until', '7d', '--reason', 'so');
      await editEmail(stage);
    },
    codes: [0, 0, 0, 0, 0],
  },
  'plan and the first reconcile exit 4, and the second exits 3, if the guard holds too many edits': {
    config: { guard: { maxRows: 5 } },
    happens: (stage) => editEmail(stage, many),
    codes: [4, 4, 0, 4, 3],
  },
  'plan exits 4 and reconcile exits 3 if a batch waits for a person and a field is held': {
    config: { guard: { maxRows: 5 } },
    happens: async (stage) => {
      await conflict(stage);
      await editEmail(stage, many);
      await stage.run();
    },
    codes: [4, 4, 0, 3, 3],
  },
  'all commands exit 1 if a listing is incomplete and a field is held': {
    happens: async (stage) => {
      await conflict(stage);
      await stage.run();
      stage.emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', times: 'always' });
    },
    codes: [1, 1, 1, 1, 1],
  },
};

/** docs/guide.md, Exit codes: one rule for all commands that look at both sides. */
describe('exit codes of plan, verify and reconcile', () => {
  let stage: Stage;

  it.each(Object.entries(situations))('%s', async (_, { happens, codes, ...options }) => {
    stage = await stages.open({ ...options, config: { push: { quietPeriodMs: 0 }, ...options.config } });
    const { guard, absence } = stage.config;
    const environment = {
      ...stage.env,
      MUSTERD__push__quietPeriodMs: '0',
      MUSTERD__guard__maxRows: String(guard.maxRows),
      MUSTERD__absence__confirmAfterMs: String(absence.confirmAfterMs),
    };
    const musterd = async (...args: readonly string[]) => (await runMusterd(args, environment)).code;
    await happens(stage, musterd);
    const looks = await Promise.all([musterd('plan'), musterd('plan', '--exit-code'), musterd('verify')]);
    expect([...looks, await musterd('reconcile'), await musterd('reconcile')]).toEqual(codes);
  });
});
