import { describe, expect, it } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { type Called, call } from './call.ts';
import { withEmulator } from './with-emulator.ts';

const quarterMs = 15 * 60_000;
/** The quarter hour in which these tests began: the next one may begin before they end. */
const begunMs = Math.floor(Date.now() / quarterMs) * quarterMs;
const dueAt = (quarters: number) => new Date(begunMs + quarters * quarterMs).toISOString();

function scheduleOf(emulator: Emulator, quarters: number): object {
  const [inbox] = emulator.team.inboxes();
  return { inbox_id: inbox?.id, execute_at: dueAt(quarters), content: { text: 'Hi' }, phone_number: '1' };
}

/** A write, and how often it has had its effect. */
interface Write {
  readonly path: string;
  readonly send: (emulator: Emulator) => Promise<Called>;
  readonly done: (emulator: Emulator) => number;
  /** The effects of the write when something sends it twice: replacing and cancelling are idempotent. */
  readonly doubled: number;
  /** Half of the keys or letters of its answer. */
  readonly half: unknown;
}

const existing = (emulator: Emulator) => emulator.team.schedules()[0]?.id;
const any = expect.any(Number) as number;

const writes: Readonly<Record<string, Write>> = {
  'POST /v1/tag': {
    path: '/v1/tag',
    send: (emulator) => call(emulator, 'POST /v1/tag', { tag: 'Made' }),
    done: ({ team }) => team.tags().filter(({ tag }) => tag === 'Made').length,
    doubled: 2,
    half: { id: any },
  },
  'POST /v1/schedule': {
    path: '/v1/schedule',
    send: (emulator) => call(emulator, 'POST /v1/schedule', scheduleOf(emulator, 5)),
    done: ({ team }) => team.schedules().filter(({ request }) => request['execute_at'] === dueAt(5)).length,
    doubled: 2,
    half: { id: any },
  },
  'PUT /v1/schedule/{id}': {
    path: '/v1/schedule/*',
    send: (emulator) => call(emulator, `PUT /v1/schedule/${existing(emulator)}`, scheduleOf(emulator, 6)),
    done: ({ team }) => (team.schedules()[0]?.rev ?? 0) - 1,
    doubled: 2,
    half: { id: any },
  },
  'DELETE /v1/schedule/{id}': {
    path: '/v1/schedule/*',
    send: (emulator) => call(emulator, `DELETE /v1/schedule/${existing(emulator)}`),
    done: ({ team }) => team.schedules().filter(({ state }) => state === 'cancelled').length,
    doubled: 1,
    half: 'o',
  },
  'POST /v1/conversations/read': {
    path: '/v1/conversations/read',
    send: (emulator) =>
      call(emulator, 'POST /v1/conversations/read', {
        inbox_id: emulator.team.inboxes()[0]?.id,
        user_id: emulator.team.users()[0]?.id,
        target: '1',
      }),
    done: ({ team }) => team.conversationsRead().length,
    doubled: 2,
    half: 'o',
  },
};

/** Plays the fault on the write, beside a message that is there already; both are over in the end. */
async function playOn(
  write: Write,
  text: string,
  look: (emulator: Emulator, sent: Promise<Called>) => Promise<void>,
): Promise<void> {
  await withEmulator({}, async (emulator) => {
    await call(emulator, 'POST /v1/schedule', scheduleOf(emulator, 4));
    for (const fault of parseFaults([`${text},path=${write.path}`])) emulator.addFault(fault);
    await look(emulator, write.send(emulator));
  });
}

const cut = /ECONNRESET|UND_ERR_SOCKET|other side closed|terminated|UND_ERR_RES_CONTENT_LENGTH_MISMATCH/;
const reasonOf = (sent: Promise<Called>) =>
  sent.then(
    (answer) => `answered ${answer.status}`,
    (error: unknown) => String((error as NodeJS.ErrnoException).code ?? error),
  );

describe.each(Object.entries(writes))('%s', (_name, write) => {
  it.each([
    ['reset-after', 1],
    ['reset-in', 1],
    ['truncate', 1],
    ['reset-before', 0],
  ])('a write takes effect or not if its answer is lost: %s', (text, done) =>
    playOn(write, text, async (emulator, sent) => {
      expect(await reasonOf(sent)).toMatch(cut);
      expect(write.done(emulator)).toBe(done);
    }),
  );

  it.each([
    ['status,code=500,effect=applied', 1, 500],
    ['status,code=500', 0, 500],
    ['html,effect=applied', 1, 200],
    ['garbage,effect=applied', 1, 200],
    ['too-many-requests', 0, 429],
  ])('a write takes effect or not whatever the answer: %s', (text, done, status) =>
    playOn(write, text, async (emulator, sent) => {
      expect((await sent).status).toBe(status);
      expect(write.done(emulator)).toBe(done);
    }),
  );

  it.each(['504', 'reset', 'stall'])('a write takes effect later, and is answered %s', (answer) =>
    playOn(write, `late,answer=${answer},requests=2`, async (emulator, sent) => {
      const settled = reasonOf(sent);
      if (answer === '504') expect(await settled).toBe('answered 504');
      if (answer === 'reset') expect(await settled).toMatch(cut);
      // The next request comes after that one, and the second after it finds it done.
      while (emulator.requests.length < 2) await new Promise(setImmediate);
      await call(emulator, 'GET /v1/team');
      expect(write.done(emulator)).toBe(0);
      await call(emulator, 'GET /v1/team');
      expect(write.done(emulator)).toBe(1);
      await emulator.close();
      if (answer === 'stall') expect(await settled).toMatch(cut);
    }),
  );

  it('a write takes effect twice if a proxy repeats it', () =>
    playOn(write, 'doubled', async (emulator, sent) => {
      expect((await sent).status).toBe(200);
      expect(write.done(emulator)).toBe(write.doubled);
    }));

  it('a write returns half of its answer', () =>
    playOn(write, 'partial-answer,keep=50', async (emulator, sent) => {
      expect((await sent).json).toEqual(write.half);
      expect(write.done(emulator)).toBe(1);
    }));
});

describe('a message that a proxy repeats', () => {
  it('a repeated message exists once for each local_id, and gets its first or second answer', () =>
    withEmulator({}, async (emulator) => {
      const send = (answer: 'first' | 'second', localId: string) => {
        emulator.addFault({ kind: 'doubled', answer });
        return call(emulator, 'POST /v1/schedule', { ...scheduleOf(emulator, 4), local_id: localId });
      };
      await send('first', 'a');
      expect(emulator.team.schedules()).toMatchObject([{ creates: 2 }]);
      emulator.setVariants({ 'local-id': 'refused' });
      expect([(await send('first', 'b')).status, (await send('second', 'c')).status]).toEqual([200, 400]);
      expect(emulator.team.schedules()).toHaveLength(3);
    }));

  it('a message leaves if its cancel takes effect too late', () =>
    withEmulator({}, async (emulator) => {
      await call(emulator, 'POST /v1/schedule', scheduleOf(emulator, 4));
      emulator.addFault({ kind: 'late', answer: '504', requests: 1000 });
      await call(emulator, `DELETE /v1/schedule/${existing(emulator)}`);
      emulator.clock.advance(5 * quarterMs);
      emulator.applyLateWrites();
      expect(emulator.team.schedules()).toMatchObject([{ state: 'sent' }]);
      expect(emulator.team.deliveries()).toHaveLength(1);
    }));
});
