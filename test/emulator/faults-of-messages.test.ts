import { describe, expect } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { endpoints } from '../../src/emulator/rules/endpoints.ts';
import { it } from './with-emulator.ts';

const quarterMs = 15 * 60_000;
/** The quarter hour in which these tests began: the next one may begin before they end. */
const begunMs = Math.floor(Date.now() / quarterMs) * quarterMs;
const dueAt = (quarters: number) => new Date(begunMs + quarters * quarterMs).toISOString();

function scheduleOf(emulator: Emulator, quarters: number): object {
  const [inbox] = emulator.team.inboxes();
  return { inbox_id: inbox?.id, execute_at: dueAt(quarters), content: { text: 'Hi' }, phone_number: '1' };
}

const existing = (emulator: Emulator) => emulator.team.schedules()[0]?.id;
const made = ({ team }: Emulator) => team.tags().filter(({ tag }) => tag === 'Made').length;

describe('faults of a write', () => {
  it('exactly six endpoints are marked as writes: users/update, tag, conversations/read, and three of schedule', () => {
    const writing = endpoints.filter(({ writes }) => writes === true);
    expect(writing.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'DELETE /v1/schedule/{id}',
      'POST /v1/conversations/read',
      'POST /v1/schedule',
      'POST /v1/tag',
      'POST /v1/users/update',
      'PUT /v1/schedule/{id}',
    ]);
  });

  it('the fault doubled applies the write twice, and answers 200', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'doubled' });
    expect((await ask('POST /v1/tag', { tag: 'Made' })).status).toBe(200);
    expect(made(emulator)).toBe(2);
  });

  it('the fault partial-answer applies the write, but sends half of the body', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'partial-answer', keep: 50, times: 2 });
    expect((await ask('POST /v1/tag', { tag: 'Made' })).json).toEqual({ id: expect.any(Number) as number });
    expect(made(emulator)).toBe(1);
    const read = { inbox_id: emulator.team.inboxes()[0]?.id, user_id: emulator.team.users()[0]?.id };
    expect((await ask('POST /v1/conversations/read', read)).json).toBe('o');
  });
});

describe('scheduled messages with faults', () => {
  it('the fault doubled repeats a request with its local_id, and returns the first or second answer', async ({
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
