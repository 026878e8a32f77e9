import { describe, expect } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { type Called, call } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

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
  readonly send: (emulator: Emulator) => Promise<Called>;
  readonly done: (emulator: Emulator) => number;
  /** The effects of the write when something sends it twice: replacing and cancelling are idempotent. */
  readonly doubled?: number;
  /** Half of the letters of its answer, or of the keys. */
  readonly half?: string;
}

const existing = (emulator: Emulator) => emulator.team.schedules()[0]?.id;

const writes: Readonly<Record<string, Write>> = {
  'POST /v1/tag': {
    send: (emulator) => call(emulator, 'POST /v1/tag', { tag: 'Made' }),
    done: ({ team }) => team.tags().filter(({ tag }) => tag === 'Made').length,
  },
  'POST /v1/schedule': {
    send: (emulator) => call(emulator, 'POST /v1/schedule', scheduleOf(emulator, 5)),
    done: ({ team }) => team.schedules().filter(({ request }) => request['execute_at'] === dueAt(5)).length,
  },
  'PUT /v1/schedule/{id}': {
    send: (emulator) => call(emulator, `PUT /v1/schedule/${existing(emulator)}`, scheduleOf(emulator, 6)),
    done: ({ team }) => (team.schedules()[0]?.rev ?? 0) - 1,
  },
  'DELETE /v1/schedule/{id}': {
    send: (emulator) => call(emulator, `DELETE /v1/schedule/${existing(emulator)}`),
    done: ({ team }) => team.schedules().filter(({ state }) => state === 'cancelled').length,
    doubled: 1,
    half: 'o',
  },
  'POST /v1/conversations/read': {
    send: (emulator) =>
      call(emulator, 'POST /v1/conversations/read', {
        inbox_id: emulator.team.inboxes()[0]?.id,
        user_id: emulator.team.users()[0]?.id,
        target: '1',
      }),
    done: ({ team }) => team.conversationsRead().length,
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
    for (const fault of parseFaults([text])) emulator.addFault(fault);
    await look(emulator, write.send(emulator));
  });
}

describe.each(Object.entries(writes))('faults of %s', (_name, write) => {
  it('the fault late answers 504, and applies the write two requests later', () =>
    playOn(write, 'late,answer=504,requests=2', async (emulator, sent) => {
      expect((await sent).status).toBe(504);
      await call(emulator, 'GET /v1/team');
      expect(write.done(emulator)).toBe(0);
      await call(emulator, 'GET /v1/team');
      expect(write.done(emulator)).toBe(1);
    }));

  it('the fault doubled applies the write twice, and answers 200', () =>
    playOn(write, 'doubled', async (emulator, sent) => {
      expect((await sent).status).toBe(200);
      expect(write.done(emulator)).toBe(write.doubled ?? 2);
    }));

  it('the fault partial-answer applies the write, and answers with half of the body', () =>
    playOn(write, 'partial-answer,keep=50', async (emulator, sent) => {
      expect((await sent).json).toEqual(write.half ?? { id: expect.any(Number) as number });
      expect(write.done(emulator)).toBe(1);
    }));
});

describe('scheduled messages with faults', () => {
  it('the fault doubled creates one message, and returns the first or second answer as set', async ({
    emulator,
    ask,
  }) => {
    const send = (answer: 'first' | 'second', localId: string) => {
      emulator.addFault({ kind: 'doubled', answer });
      return ask('POST /v1/schedule', { ...scheduleOf(emulator, 4), local_id: localId });
    };
    await send('first', 'a');
    expect(emulator.team.schedules()).toMatchObject([{ creates: 2 }]);
    emulator.setVariants({ 'local-id': 'refused' });
    expect([(await send('first', 'b')).status, (await send('second', 'c')).status]).toEqual([200, 400]);
    expect(emulator.team.schedules()).toHaveLength(3);
  });

  it('delivers a message if its cancellation takes effect after the due time', async ({ emulator, ask }) => {
    await ask('POST /v1/schedule', scheduleOf(emulator, 4));
    emulator.addFault({ kind: 'late', answer: '504', requests: 1000 });
    await ask(`DELETE /v1/schedule/${existing(emulator)}`);
    emulator.clock.advance(5 * quarterMs);
    emulator.applyLateWrites();
    expect(emulator.team.schedules()).toMatchObject([{ state: 'sent' }]);
    expect(emulator.team.deliveries()).toHaveLength(1);
  });
});
