import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const texts = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && path !== 'support/no-durations.test.ts')
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const pathsWith = (words: RegExp) =>
  texts.flatMap(({ path, text }) => (words.test(text) ? [path] : [])).toSorted();

/**
 * What a duration is made of in a test: a clock that runs by itself, time that a process has used, or the wall clock
 * less a moment. Less a number, that is a moment of its own.
 */
const clocks = [
  /performance\.now\(|hrtime|[cC]puUsage|console\.time/,
  /Date\.now\(\)(?: \/ [\d_]+)?\)*\s*-\s*[a-z]|[\w)\]]\s*-\s*Date\.now\(\)/,
  /extract\(epoch from [^)]*(?:lag\(|(?:finished|started)_at\s*-)/,
];

/** The files that may read such a clock, and why no test becomes red on a slow machine for it. */
const clockReaders: Readonly<Record<string, string>> = {
  'daemon/systemd.test.ts':
    'What is sent to systemd is this very clock: it lies between one look and a later one on any machine.',
  'hostile/run.ts':
    'How far it has got is printed from time to time, and how long it took; no test looks at it.',
  'mutation/breaks.ts': 'How long a break took is printed; no test looks at it.',
  'mutation/test-runner.ts': 'Stryker is told how long each test took, to play the quick ones first.',
  'simulation/run.ts': 'How long a seed took is printed for whoever plays many; no test looks at it.',
  'stepper/run.ts': 'How long the seeds took is printed; no test looks at it.',
  'support/scale-out.ts': 'These are figures for `npm run bench`: no test looks at them.',
};

it('only listed test files read a clock, so that no test compares durations', () => {
  const found = clocks.flatMap(pathsWith);
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(clockReaders).toSorted());
});

/** What waits for a time and for nothing else, or for something until a time of its own. */
const waits = /timers\/promises|\bsetTimeout\(|expect\.poll\([^;]*timeout|\bvi\.wait(?:For|Until)\b/;

/** The files that may wait so, and why. */
const waiters: Readonly<Record<string, string>> = {
  'simulation/world.ts': 'It has the timers of the simulated world, which no clock drives.',
  'stepper/sessions-thread.ts': 'A statement is answered, or the server is asked again for whom it waits.',
  'support/eventually.ts': 'Everybody else waits by it, for something that happens.',
};

it('only listed test files wait for a fixed time, or set the timeout of a wait', () => {
  expect(pathsWith(waits)).toEqual(Object.keys(waiters).toSorted());
});

/** What a browser shows comes a moment after the click: `expect.poll` asks again until a test has hung. */
const looksOnce =
  /expect\(await [^;]*?\.(?:count|isVisible|isDisabled|isChecked|innerText|textContent|getAttribute)\(\S*\)\)/;

it('each browser test polls the page instead of reading the page once', () => {
  expect(pathsWith(/openPage\(/).length).toBeGreaterThan(1);
  expect(pathsWith(looksOnce)).toEqual([]);
});

it('no test or hook sets a timeout of its own', () => {
  const options = /\b(?:it|test|describe|beforeAll|beforeEach|afterAll|afterEach)\b[^\n]*\{[^\n}]*\btimeout:/;
  const last = /^(?: {2})*\}, (?:\d[\d_]{3,}|\d[\d_]* \* \w+)\);$/m;
  const settings = /\b(?:testTimeout|hookTimeout|setConfig)\b/;
  expect([options, last, settings].flatMap(pathsWith)).toEqual([]);
});
