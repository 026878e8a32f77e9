import { describe, expect } from 'vitest';
import { call } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

describe('X-Emulator-Reason', () => {
  it.each([
    ['GET /v1/inboxes', undefined, null, 401, 'no Authorization header'],
    ['GET /v1/inboxes', undefined, 'a.b.c', 401, 'the header is not base64url JSON'],
    ['GET /v1/nothing', undefined, undefined, 404, 'the interface shows no such path'],
    ['POST /v1/tag', '{', undefined, 400, 'the body is not JSON'],
    ['POST /v1/tag', { tag: 7 }, undefined, 400, 'tag: Invalid input: expected string, received number'],
    ['POST /v1/users/update', { users: [{ id: 1 }] }, undefined, 400, 'no user 1'],
  ])('gives the reason why %s with the body %j is refused', (operation, body, bearer, status, reason) =>
    withEmulator({}, async (emulator) => {
      const answer = await call(emulator, operation, body, bearer);
      expect([answer.status, answer.headers['x-emulator-reason']]).toEqual([status, reason]);
    }),
  );

  it('lists the faults that changed an answer, and is absent if no fault did', async ({ emulator, ask }) => {
    emulator.addFault({ kind: 'status', code: 502 });
    emulator.addFault({ kind: 'clock-skew', seconds: 1 });
    const answer = await ask('GET /v1/team');
    expect([answer.status, answer.headers['x-emulator-reason']]).toEqual([502, 'fault: status, clock-skew']);
    expect((await ask('GET /v1/team')).headers).not.toHaveProperty('x-emulator-reason');
  });

  it('X-Emulator-Reason stays one header if a field’s name has a line break', async ({ emulator, ask }) => {
    const { headers } = await ask('POST /v1/tag', { tag: 1, 'a\r\nb': 1 });
    expect(headers['x-emulator-reason']).toMatch(/^tag: /);
    const inbox = emulator.team.inboxes()[0]?.id;
    const odd = await ask('POST /v1/schedule', {
      inbox_id: inbox,
      content: { attachments: { 'Größe\r\nX-Evil: 1': 1 } },
    });
    expect(odd.status).toBe(400);
    expect(odd.headers).not.toHaveProperty('x-evil');
  });
});
