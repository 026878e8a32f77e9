import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { printPreviewInMarkdown } from '../../src/commands/files/show-import.ts';
import type { ImportPreview } from '../../src/runs/files/import/import-users.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const hostile = [
  'a|b \\| c',
  '`` ` ```',
  'x\r\n# heading\n\n- item',
  '<script>alert(1)</script><!-- ',
  '@everybody #12 ![](https://evil.example/x.png)',
  '\u202eevil\u2066 \u200b',
  '/close',
  '| --- |',
];

/** What is left of a line once each piece of code in it is taken out, as CommonMark reads them. */
const outsideCode = (text: string) => text.replaceAll(/(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)/g, '§');

/** All shapes that a line has outside of code. */
const shapes = [
  /^$/,
  /^# Import § into team \d+$/,
  /^\d+ rows?: \d+ matched, \d+ that cannot be used, \d+ users? to change(; pushing costs \d+ requests?, about \d+ s at the rate limit)?\.$/,
  /^\*\*[a-z0-9 ,;:-]+\*\*$/,
  /^- §$/,
  /^\| (line \| row \| why|change \| field \| from \| to \| why) \|$/,
  /^\|(---\|)+$/,
  /^\| \d+ \| (unreadable|unmatched|ambiguous|contradictory|duplicate|invalid) \| § \|$/,
  /^## \d+( §)?$/,
  /^\| push \| (name|email|phone|role_id) \| §? \| §? \| § \|$/,
];

function expectHarmless(markdown: string): void {
  const strange = markdown
    .split('\n')
    .filter((line) => !shapes.some((shape) => shape.test(outsideCode(line))));
  expect(strange).toEqual([]);
  expect(markdown).not.toMatch(/[\p{Cf}\u2028\u2029]|[^\P{Cc}\n]/u);
}

it('printPreviewInMarkdown prints any name and value only inside code, never as Markdown or HTML', () => {
  const text = fc.oneof(
    fc.constantFrom(...hostile),
    fc.string({ unit: fc.constantFrom('`', '|', '\\', '\n', '<', '@', '#', ' ', '\u202e', '\ud800', 'a') }),
  );
  fc.assert(
    fc.property(text, text, text, (one, two, three) => {
      const preview = {
        teamId: 41n,
        hash: '0123456789ab',
        rows: 3,
        matched: 2,
        changing: 1,
        problems: [{ line: 3, kind: 'unmatched', reason: `nobody has ${one}` }],
        changes: [
          {
            line: 2,
            userId: 7n,
            name: one,
            field: 'name',
            from: { first: two, last: three },
            to: { first: one, last: 'x' },
          },
          { line: 2, userId: 7n, name: one, field: 'email', from: `x${two}`, to: `x${three}` },
        ],
        ignored: [`x${two}`],
        notes: [`x${three}`],
        notInFile: [{ user_id: 8n, name: two }],
        cost: { users: 1, requests: 1, seconds: 1 },
      } as unknown as ImportPreview;
      const lines: string[] = [];
      const out = { write: (line: string) => lines.push(line) };
      printPreviewInMarkdown({ out }, preview, { guard: [`x${one}`], why: 'nothing is written yet' });
      expectHarmless(lines.join(''));
    }),
  );
});

/** What `--json` says. */
interface Said {
  readonly hash: string;
  readonly changes: readonly object[];
}

describe('musterd import --dry-run', () => {
  let stage: Stage;
  const folder = ownFolder();
  let ids: readonly number[];
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 60, tags: 3, fields: 1 } });
    await stage.run();
    ids = stage.people().map(({ id }) => id);
  });
  afterAll(() => stage.close());
  const musterd = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMusterd(args, { ...stage.env, MUSTERD__log__level: 'silent', ...env });
  const file = (text: string, name = 'roster.yaml') => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const inYaml = (rows: readonly Readonly<Record<string, string | number>>[]) =>
    file(rows.map((row) => `- ${JSON.stringify(row)}\n`).join(''));
  const json = async (...args: readonly string[]) => {
    const { code, stdout } = await musterd([...args, '--json']);
    return { code, ...(JSON.parse(stdout) as Said) };
  };
  /** Everything that either side holds of users, and what was sent. */
  const state = async () => [await stage.mirrored(), stage.emulator.team.users(), stage.updates()];

  it('shows problems and changes, changes neither mirror nor service, and sends no request', async () => {
    const [a = 0, b = 0, c = 0] = ids;
    const path = inYaml([
      { id: a, email: 'a@example.com', phone: '+1 (555) 010-0166' },
      { id: b, email: 'b@example.com' },
      { id: b, email: 'other@example.com' },
      { email: 'nobody@example.com' },
      { id: c, phone: '(555) 1', 'cost centre': 7 },
      { id: ids[3] ?? 0, last_name: 'Lind' },
    ]);
    const before = await state();
    stage.emulator.clearRequests();
    const shown = await json('import', path, '--dry-run');
    expect(shown).toMatchObject({
      code: 64,
      applied: false,
      problems: [
        { line: 2, kind: 'duplicate' },
        { line: 3, kind: 'duplicate' },
        { line: 4, kind: 'unmatched' },
        { line: 5, kind: 'invalid' },
      ],
      ignored_columns: ['cost centre'],
      changes: [
        { user_id: a, field: 'email', to: 'a@example.com', line: 1 },
        { user_id: a, field: 'phone', to: '15550100166', line: 1 },
        { user_id: ids[3], field: 'name', line: 6 },
      ],
    });
    const without = await json('import', path, '--dry-run', '--skip-errors', '--only', 'email');
    expect(without).toMatchObject({ code: 0, changes: [{ user_id: a, field: 'email' }] });
    expect((await musterd(['import', path, '--dry-run', '--skip-errors', '--exit-code'])).code).toBe(2);
    const words = await musterd(['import', path, '--dry-run']);
    expect(words.code).toBe(64);
    expect(words.stderr).toContain('4 rows cannot be used, so nothing is applied');
    expect(stage.emulator.requests).toEqual([]);
    expect(await state()).toEqual(before);
  });

  it('prints how many requests pushing costs, and if the guard or push.fourEyes will require an approval', async () => {
    const path = inYaml(ids.slice(0, 30).map((id) => ({ id, email: `many${id}@example.com` })));
    const shown = await musterd(['import', path, '--dry-run', '--markdown']);
    expect(shown.code).toBe(0);
    const { hash } = await json('import', path, '--dry-run');
    expect(shown.stdout.split('\n')[0]).toBe(`# Import \`${hash}\` into team 41`);
    expect(shown.stdout.match(/^\| push /gm)).toHaveLength(30);
    expect(shown.stdout).toMatch(
      /^- `the guard will hold it: .* more than the limit of \d+.*; the owner's login can approve it with --reason`$/m,
    );
    expect(shown.stdout).toMatch(
      / 30 users to change; pushing costs \d+ requests, about \d+ s at the rate limit\.$/m,
    );
    const eyes = { MUSTERD__push__fourEyes: 'true', MUSTERD_ACTOR: 'kim' };
    const seen = await musterd(['import', path, '--dry-run', '--markdown'], eyes);
    expect(seen.stdout).toMatch(
      /the guard will hold it: .*; another person must approve it \(push\.fourEyes\)/,
    );
    const one = inYaml([{ id: ids[0] ?? 0, email: 'one@example.com' }]);
    const always = { ...eyes, MUSTERD__push__approve: 'always' };
    const waits = 'it waits until another person approves it';
    expect((await musterd(['import', one, '--dry-run', '--markdown'], always)).stdout).toContain(waits);
    expect((await musterd(['import', one, '--dry-run', '--markdown'], eyes)).stdout).not.toContain(waits);
  });

  it('prints a hash, and import --expect <hash> applies nothing if the file or the mirror has changed', async () => {
    const [a = 0, b = 0] = ids.slice(20);
    const rows = (email: string) => [
      { id: a, email },
      { id: b, phone: '+15550177' },
    ];
    const path = inYaml(rows('roster@example.com'));
    const { hash } = await json('import', path, '--dry-run');
    const apply = (...args: readonly string[]) => json('import', path, '--yes', '--expect', hash, ...args);
    const before = await state();
    const refused = async () => {
      const { code, stderr } = await musterd(['import', path, '--yes', '--expect', hash]);
      expect([code, stderr]).toEqual([4, expect.stringMatching(`this import is [0-9a-f]{12}, not ${hash}`)]);
    };
    inYaml(rows('else@example.com'));
    await refused();
    inYaml([...rows('roster@example.com'), { id: ids[25] ?? 0, phone: '+15550178' }]);
    await refused();
    inYaml(rows('roster@example.com').slice(1));
    await refused();
    inYaml(rows('roster@example.com'));
    expect(await state()).toEqual(before);
    // Only what both agreed on has moved: a run took it over from the web app.
    const [[old = ''] = []] = await stage.sql(`select phone from mirror.users where id = ${b}`);
    stage.emulator.team.editUser(b, { phone: '15550188' });
    await stage.run();
    await refused();
    stage.emulator.team.editUser(b, { phone: old });
    await stage.run();
    expect(await apply()).toMatchObject({ code: 0, applied: true, missed: [] });
    expect(await stage.run()).toMatchObject({ counts: { pushed: 2 } });
    expect(stage.emulator.team.user(a).email).toBe('roster@example.com');
    await refused();
  });

  it('exits 64 for --markdown or --exit-code without --dry-run, and for --unusable with the imported file', async () => {
    const path = file('id,email\n1,a@example.com\n', 'people.csv');
    for (const [args, words] of [
      [[path, '--markdown'], '--markdown and --exit-code need --dry-run'],
      [[path, '--exit-code'], '--markdown and --exit-code need --dry-run'],
      [[path, '--dry-run', '--unusable', path], '--unusable must name another file'],
    ] as const) {
      const { code, stderr } = await musterd(['import', ...args]);
      expect([code, stderr]).toEqual([64, expect.stringContaining(words)]);
    }
  });
});
