/** The log has no name, address, phone or tag of anybody, whatever goes wrong. */
import { Writable } from 'node:stream';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/log.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/postgres-process.ts';
import { startDaemon } from './daemon-here.ts';
import { runMusterd, spawnMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const marker = 'zqmark';
const phone = '15557779';
const marked = /zqmark|15557779/i;

/** Runs at the most talkative level. @returns the log, and whether the run went through */
async function logOf(stage: Stage) {
  const lines: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const log = createLog({ level: 'trace', stream });
  const ended = await runReconcile(stage.db, stage.config, 'reconcile', { log }).then(
    () => 'done',
    (error: unknown) => String(error),
  );
  return { ended, text: lines.join('') };
}

/** A trigger of somebody else's on the users, in whose words the value is. */
const trigger = (raise: string) => `
  create or replace function public.refuse() returns trigger language plpgsql as $$ begin ${raise} return new; end $$;
  create or replace trigger refuse before insert or update on mirror.users for each row execute function public.refuse()`;

describe('the log of a team with marked names, addresses and tags', () => {
  let stage: Stage;
  afterAll(() => stage.close());

  it('contains none of the marks, even if a run, an import, the daemon or a page fails on a marked value', async () => {
    stage = await createStage({ emulator: { users: 0 } });
    const { team } = stage.emulator;
    const people = [1, 2, 3].map((n) =>
      team.addUser({
        first: `Zqmark${n}`,
        last: 'Berg',
        email: `${marker}${n}@example.com`,
        phone: `${phone}${n}`,
      }),
    );
    const [one, two] = people;
    if (one === undefined || two === undefined) throw new Error('nobody was added');
    team.addTag(`${marker} tag`);
    const usual = await logOf(stage);
    expect(usual.ended).toBe('done');
    expect(usual.text).toContain('run finished');
    expect(usual.text).not.toMatch(marked);

    await stage.sql(
      `update mirror.users set email = '${marker}2@example.com', phone = '${phone}2' where id = ${one.id}`,
    );
    expect((await logOf(stage)).text).not.toMatch(marked);

    await stage.sql(`update mirror.users set email = '${marker}9@example.com' where id = ${two.id}`);
    for (const path of ['/v1/team', '/v1/users/update', '/v1/tags', '/v1/inboxes'])
      stage.emulator.addFault({
        kind: 'status',
        code: path === '/v1/team' ? 400 : 403,
        label: `${marker}9@example.com is taken`,
        path,
        times: path === '/v1/team' ? 1 : 'always',
      });
    const [alone, ...others] = [await logOf(stage), await logOf(stage), await logOf(stage)];
    expect(alone?.ended).toContain('answered 400');
    const told = others.map(({ text }) => text).join('');
    expect(told).toContain('was answered 403');
    expect(`${alone?.text}${told}`).not.toMatch(marked);

    for (const [raise, words] of [
      ["raise exception 'no % here', new.email;", 'P0001'],
      ["raise exception '\"%\" is no phone', new.phone using errcode = 'check_violation';", '23514'],
      ['perform new.name::bigint;', '22P02'],
    ] as const) {
      await stage.sql(trigger(raise));
      team.editUser(one.id, { phone: `${phone}${words.length}5` });
      const { ended, text } = await logOf(stage);
      expect([words, ended]).toEqual([words, expect.stringMatching(marked)]);
      expect(text).toContain(words);
      expect(text).not.toMatch(marked);
    }

    const environment = {
      ...stage.env,
      MUSTERD__log__level: 'debug',
      MUSTERD__schedule__users: '* * * * * *',
      MUSTERD__status__details: 'true',
    };
    const sheet = `id,phone,email\n${two.id},${phone}77,${marker}77@example.com\n`;
    const logged = [
      await runMusterd(['reconcile'], environment),
      await spawnMusterd(['import', '-', '--format', 'csv', '--yes'], environment, sheet),
    ].map(({ stderr }) =>
      stderr
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n'),
    );
    const port = await freePort();
    const daemon = startDaemon({ ...environment, MUSTERD__status__port: String(port) });
    onTestFinished(() => void daemon.stop());
    await eventually('the daemon is refused', () => daemon.log().includes('22P02'));
    const page = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect(await page(`/people?q=${marker}1`)).toBe(200);
    await stage.sql(`create or replace function mirror.field_text(value jsonb) returns text
      language plpgsql stable parallel safe as $$ begin raise exception 'no % here', value; end $$`);
    expect(await page(`/changes?q=${marker}1`)).toBe(503);
    await daemon.stop();
    expect(daemon.log()).toContain('page not shown');
    // What a command tells whoever typed it is no log.
    expect(logged).toEqual([expect.stringContaining('22P02'), expect.any(String)]);
    expect([...logged, daemon.log()].filter((text) => marked.test(text))).toEqual([]);
  });
});
