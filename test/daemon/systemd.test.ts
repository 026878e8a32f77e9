import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemd, type SystemdOptions } from '../../src/daemon/systemd.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { eventually } from '../support/eventually.ts';

const has = (program: string) => spawnSync(program, ['--version']).status === 0;
const canListen = has('python3') && has('systemd-notify');

const PATH = process.env['PATH'];

/** What a daemon says to systemd, in this environment. */
function open(env: Readonly<Record<string, string>>, more: Partial<SystemdOptions> = {}) {
  const warnings: object[] = [];
  const log: SystemdOptions['log'] = { warn: (fields) => warnings.push(fields) };
  const systemd = createSystemd({ env: { PATH, ...env }, isFresh: () => true, log, ...more });
  onTestFinished(() => systemd.close());
  return { systemd, warnings };
}

/** The messages to a manager's socket, without the notices that systemd-notify waits for. */
async function listen(): Promise<{ readonly socket: string; readonly messages: readonly string[] }> {
  const folder = temporaryFolder();
  const socket = join(folder.path, 'notify');
  const child = spawn('python3', [join(ROOT, 'test', 'daemon', 'notify-socket.py'), socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    folder[Symbol.dispose]();
  });
  const messages: string[] = [];
  let listening = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'listening') listening = true;
    else messages.push(JSON.parse(line) as string);
  });
  await eventually('the socket is there', () => listening);
  return { socket, messages };
}

const said = (messages: readonly string[]) => messages.filter((text) => text !== 'BARRIER=1');

test.skipIf(!canListen)('notifies systemd of each state in order', async () => {
  const { socket, messages } = await listen();
  const { systemd, warnings } = open({ NOTIFY_SOCKET: socket });
  const before = process.hrtime.bigint() / 1_000n;
  void systemd.ready();
  void systemd.reloading();
  void systemd.ready();
  void systemd.stopping();
  await systemd.close();
  const all = await eventually('all is said', () => said(messages).length === 4 && said(messages));
  expect(all.map((text) => text.replace(/\d{6,}/, '…'))).toEqual([
    'READY=1',
    'RELOADING=1\nMONOTONIC_USEC=…',
    'READY=1',
    'STOPPING=1',
  ]);
  const usec = BigInt(/USEC=(\d+)/.exec(all[1] ?? '')?.[1] ?? 0);
  expect(usec).toBeGreaterThanOrEqual(before);
  expect(usec).toBeLessThanOrEqual(process.hrtime.bigint() / 1_000n);
  expect(warnings).toEqual([]);
});

test.skipIf(!canListen)('sends watchdog signals only while the mirror is fresh', async () => {
  const { socket, messages } = await listen();
  let answer: () => boolean = () => true;
  let asked = 0;
  const isFresh = () => {
    asked += 1;
    return answer();
  };
  open({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '90000', WATCHDOG_PID: String(process.pid) }, { isFresh });
  const beats = () => messages.filter((text) => text === 'WATCHDOG=1').length;
  await eventually('signs of life', () => beats() >= 2);
  for (const no of [
    () => false,
    () => {
      throw new Error('nobody knows');
    },
  ]) {
    answer = no;
    const from = asked;
    await eventually('asked with the new answer, and the last sign has come', () => asked >= from + 2);
    const quietFrom = beats();
    await eventually('asked again', () => asked >= from + 6);
    expect(beats()).toBe(quietFrom);
  }
  answer = () => true;
  const from = beats();
  await eventually('signs of life again', () => beats() > from);
});

test.skipIf(!canListen)('sends no watchdog signals if WATCHDOG_PID is another process', async () => {
  const { socket } = await listen();
  let asked = false;
  const isFresh = () => {
    asked = true;
    return true;
  };
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '3000', WATCHDOG_PID: '1' };
  const { systemd } = open(env, { isFresh });
  await systemd.ready();
  await systemd.close();
  expect(asked).toBe(false);
});

const listening = { NOTIFY_SOCKET: '/nowhere/notify' };
const program = '/nowhere/systemd-notify';

test.each([
  ['NOTIFY_SOCKET is unset', { WATCHDOG_USEC: '3000' }, { program }, []],
  ['the program is missing', listening, { program }, [{ program, problem: 'it cannot be run' }]],
])(
  'works without systemd, and warns only if the program systemd-notify is missing: %s',
  async (_, env, more, warned) => {
    const { systemd, warnings } = open(env as Readonly<Record<string, string>>, more);
    await systemd.ready();
    await systemd.stopping();
    await systemd.close();
    expect(warnings).toEqual(warned);
  },
);

test.skipIf(!canListen)('warns once about two messages if the socket of systemd does not exist', async () => {
  const { systemd, warnings } = open(listening);
  await systemd.ready();
  await systemd.stopping();
  await systemd.close();
  expect(warnings).toEqual([{ program: 'systemd-notify', problem: 'it ended with 1' }]);
});
