import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { listenHere } from './listen-here.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly fields: Readonly<Record<string, unknown>> & { readonly event?: string; readonly was?: string };
}

/** Where people are told: takes everything, unless the test answers otherwise. */
async function createReceiver() {
  const received: Received[] = [];
  const answers: ((response: ServerResponse) => void)[] = [];
  const origin = await listenHere((request, response) => {
    void text(request).then((body) => {
      received.push({
        headers: request.headers,
        body,
        fields: JSON.parse(body) as Received['fields'],
      });
      const answer = answers.shift();
      if (answer === undefined) response.end('ok');
      else answer(response);
    });
  });
  return {
    received,
    /** What the next calls are answered with, one after another. */
    answers,
    url: `${origin}/services/T0canary0B0`,
    told: () =>
      received.map(({ fields: { event, was } }) => (was === undefined ? event : `${event}: ${was}`)),
  };
}

const secret = 'a secret that signs, canary';

describe('the notices of the daemon', () => {
  let stage: Stage;
  let receiver: Awaited<ReturnType<typeof createReceiver>>;
  const daemons: DaemonHere[] = [];
  beforeEach(async () => {
    receiver = await createReceiver();
    stage = await createStage({ emulator: { users: 60, tags: 2, fields: 2 } });
  });
  afterEach(async () => {
    await Promise.allSettled(daemons.map((daemon) => daemon.stop()));
    await stage.close();
    for (const daemon of daemons.splice(0)) expect(daemon.log()).not.toContain('canary');
  });
  const start = (more: Readonly<Record<string, string>> = {}) => {
    const daemon = startDaemon({
      ...stage.env,
      MUSTERD__log__level: 'debug',
      MUSTERD__notify__url: receiver.url,
      MUSTERD__notify__secret: secret,
      ...more,
    });
    daemons.push(daemon);
    return daemon;
  };
  const musterd = (...args: readonly string[]) => stage.musterd(...args);
  /** Both sides change the phone of one user. */
  const conflict = async () => {
    const id = stage.emulator.team.users()[0]?.id ?? 0;
    stage.emulator.team.editUser(id, { phone: '15550100001' });
    await editPhone(0, '15550100002');
    return id;
  };
  const editPhone = (at: number, phone: string) =>
    stage.sql(`update mirror.users set phone = '${phone}' where id = ${stage.emulator.team.users()[at]?.id}`);
  const firstRun = () =>
    eventually('the first run is complete', async () => (await stage.runs(`outcome = 'complete'`)) > 0);
  const toldAll = async (...events: readonly string[]) => {
    await eventually(`told: ${events.join(', ')}`, () => receiver.received.length >= events.length);
    expect(receiver.told()).toEqual(events);
  };
  /** Each word of a name, and each address, of anybody in the team. */
  const personal = () =>
    stage.emulator.team
      .users()
      .flatMap(({ first, last, email, phone }) => [
        ...`${first} ${last}`.split(/\s+/),
        email ?? '',
        phone ?? '',
      ])
      .filter((word) => word.length > 3);
  const expectNobody = (words: readonly string[]) => {
    expect(words.length).toBeGreaterThan(100);
    for (const { body } of receiver.received) for (const word of words) expect(body).not.toContain(word);
  };

  it('report refused credentials once, and the end of the refusal once', async () => {
    const beganS = Math.floor(Date.now() / 1_000);
    start();
    await firstRun();
    stage.emulator.addFault({ kind: 'status', code: 401, path: '/v1/users/get', times: 'always' });
    await editPhone(0, '15550100003');
    await eventually('two runs have failed', async () => (await stage.runs(`outcome = 'failed'`)) >= 2);
    await toldAll('credentials-refused');
    stage.emulator.clearFaults();
    await toldAll('credentials-refused', 'recovered: credentials-refused');
    const [refused, recovered] = receiver.received;
    // The last one when it was told.
    const failed = await stage.sql(`select run_id from sync.runs where error_code = 'credentials'`);
    expect(failed.map(([id]) => Number(id))).toContain(refused?.fields['run']);
    expect(refused?.fields).toMatchObject({
      team: 'default',
      reminder: false,
      command: 'musterd --team default check',
      text: expect.stringMatching(/^default: since \S+Z, the service refuses the credentials/) as string,
    });
    expect(recovered?.fields).toMatchObject({
      team: 'default',
      command: null,
      since: refused?.fields['since'],
    });
    for (const { headers, body, fields } of receiver.received) {
      const { 'webhook-id': id, 'webhook-timestamp': stamp, 'webhook-signature': signature } = headers;
      expect(id).toBe(fields['id']);
      expect(Number(stamp)).toBeGreaterThanOrEqual(beganS);
      expect(Number(stamp)).toBeLessThanOrEqual(Date.now() / 1_000);
      const sign = (signed: string) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`;
      expect(signature).toBe(sign(`${String(id)}.${String(stamp)}.${body}`));
    }
    expect(refused?.fields['id']).not.toBe(recovered?.fields['id']);
    expectNobody(personal());
  });

  it('report a start-up that fails because the service refuses the credentials', async () => {
    stage.emulator.addFault({ kind: 'status', code: 401, path: '/v1/team', times: 'always' });
    await expect(start().ended).rejects.toMatchObject({ code: 'credentials' });
    await toldAll('credentials-refused');
  });

  it('report when a batch and a field are held, with the command to type, and when each hold ends', async () => {
    start();
    await firstRun();
    const before = personal();
    await stage.sql(`update mirror.users set email = 'all' || id || '@example.com' where email is not null`);
    await toldAll('batch-waits');
    const [[hash = '', count] = []] = await stage.sql(
      'select batch, count(distinct user_id) from report.held group by batch',
    );
    expect(receiver.received[0]?.fields).toMatchObject({
      command: `musterd --team default approve ${hash} --reason '…'`,
      batches: [{ hash, of: 'users', count: Number(count) }],
    });
    expect((await musterd('--team', 'default', 'approve', hash, '--reason', 'meant so')).code).toBe(0);
    await toldAll('batch-waits', 'recovered: batch-waits');
    await eventually('everybody is pushed', async () =>
      stage.emulator.team
        .users()
        .every(({ id, email }) => email === null || email === `all${id}@example.com`),
    );
    const id = await conflict();
    await toldAll('batch-waits', 'recovered: batch-waits', 'fields-held');
    expect(receiver.received[2]?.fields).toMatchObject({
      held: { conflict: 1 },
      command: 'musterd --team default held',
    });
    expect(
      (await musterd('resolve', String(id), 'phone', '--take', 'mirror', '--if', '15550100002')).code,
    ).toBe(0);
    await toldAll('batch-waits', 'recovered: batch-waits', 'fields-held', 'recovered: fields-held');
    expectNobody([...before, ...personal(), '15550100001', '15550100002']);
  });

  it('keep the id of a notice that the daemon repeats after the receiver failed, while runs continue', async () => {
    receiver.answers.push(
      (response) => response.writeHead(500).end('canary'),
      (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      (response) => response.socket?.destroy(),
    );
    const daemon = start();
    await firstRun();
    await conflict();
    for (const tries of [1, 2, 3]) {
      await eventually('a call has failed', () => daemon.log().split('notice not sent').length > tries);
      // As if the pause after it were over.
      await stage.sql(
        `update sync.learned set value = value || '{"nextTryMs": 0}' where topic = 'notice fields-held'`,
      );
      await editPhone(1, `1555010010${tries}`);
      await eventually('runs go on', () => stage.emulator.team.users()[1]?.phone === `1555010010${tries}`);
    }
    await eventually('it is told', () => receiver.received.length >= 4);
    expect(receiver.told().slice(0, 4)).toEqual(Array(4).fill('fields-held'));
    expect(new Set(receiver.received.slice(0, 4).map(({ fields: { id } }) => id)).size).toBe(1);
    expect(
      new Set(receiver.received.slice(0, 4).map(({ headers }) => headers['webhook-timestamp'])).size,
    ).toBe(4);
    for (const refusal of ['"status":500', '"status":302', '"problem":"UND_ERR_SOCKET"'])
      await eventually(`the log tells of ${refusal}`, () => daemon.log().includes(refusal));
  });

  it('check --notify-probe posts a test notice, and reports the answer of the receiver', async () => {
    // Whose credentials are refused has little else to check.
    const refused = { ...stage.env, MUSTERD_SECRET_KEY: 'a-key-of-nobody' };
    const check = (args: readonly string[], env: Readonly<Record<string, string>> = refused) =>
      runMusterd(['check', '--json', ...args], {
        ...env,
        MUSTERD__notify__url: receiver.url,
        MUSTERD__notify__secret: secret,
      });
    const notify = ({ stdout }: { readonly stdout: string }) =>
      (JSON.parse(stdout) as { findings: { check: string }[] }).findings.filter(
        ({ check: of }) => of === 'notify.url',
      );
    expect(notify(await check([]))).toEqual([]);
    expect(receiver.received).toEqual([]);
    const probed = await check(['--notify-probe']);
    expect(notify(probed)).toEqual([
      { check: 'notify.url', verdict: 'ok', detail: 'answered 200 to a test' },
    ]);
    expect(receiver.told()).toEqual(['test']);
    receiver.answers.push((response) => response.writeHead(404).end());
    const lost = await check(['--notify-probe'], stage.env);
    expect([lost.code, notify(lost)]).toEqual([
      1,
      [{ check: 'notify.url', verdict: 'fail', detail: 'answered 404 to a test' }],
    ]);
    receiver.answers.push((response) => response.socket?.destroy());
    expect(notify(await check(['--notify-probe']))).toMatchObject([{ verdict: 'fail' }]);
    const { stdout } = await runMusterd(['check', '--json', '--notify-probe'], refused);
    expect(notify({ stdout })).toEqual([{ check: 'notify.url', verdict: 'fail', detail: 'it is not set' }]);
  });
});
