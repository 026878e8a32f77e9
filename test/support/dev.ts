/**
 * `npm run dev`: a service, a Postgres and a daemon with its page, to look at while the code changes. Service and Postgres stay;
 * the daemon is started anew whenever a file of the program or a migration is saved. Nothing is left behind.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { ROOT } from './checkout.ts';
import { freePort } from './postgres-process.ts';

const say = (words: string) => process.stdout.write(`${words}\n`);

/** Only where somebody would see it. */
function openInBrowser(url: string): void {
  const { DISPLAY: x, WAYLAND_DISPLAY: wayland } = process.env;
  if (process.platform !== 'darwin' && !x && !wayland) return;
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  // Without such a program there is the address to click on.
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}

await using closers = new AsyncDisposableStack();
const emulator = await createEmulator({ http: true, seed: 1 });
closers.defer(() => emulator.close());
const embedded = await openEmbedded({
  ephemeral: true,
  onProgress: (step) => say(`${step} …`),
});
closers.defer(() => embedded.close());
const page = `http://127.0.0.1:${await freePort()}/`;
const settings = {
  ...emulator.environment,
  DATABASE_URL: embedded.url,
  MUSTERD__schedule__users: '*/5 * * * * *',
  MUSTERD__status__details: 'true',
};

const watched = ['src', 'migrations'].map((folder) => `--watch-path=${join(ROOT, folder)}`);
const daemon = spawn(process.execPath, [...watched, '--watch-preserve-output', 'src/main.ts', 'daemon'], {
  cwd: ROOT,
  env: {
    ...process.env,
    ...settings,
    MUSTERD__status__port: new URL(page).port,
    MUSTERD__log__level: 'warn',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = new Promise((resolve) => daemon.once('exit', resolve));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => daemon.kill('SIGTERM'));

const assigned = Object.entries(settings).map(([name, value]) => `${name}='${value}'`);
say(`\npage:   ${page}`);
say(`psql:   psql '${embedded.url}'`);
say(`shell:  export ${assigned.join(' ')}; then npm run -s musterd -- status, or any other command`);
say('Save a file of src or migrations, and the daemon starts anew. Ctrl+C ends everything.\n');
openInBrowser(page);
await ended;
