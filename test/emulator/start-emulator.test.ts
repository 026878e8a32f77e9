import { describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';

describe('startEmulator', () => {
  it('serves a team to callers with a token, and stops when the `using` block of the emulator ends', async () => {
    let url = '';
    {
      await using service = await startEmulator({ users: 50 });
      url = service.url;
      const ask = (bearer: string) =>
        fetch(`${url}/v1/team`, { headers: { authorization: `Bearer ${bearer}` } });
      const answer = await ask(service.team.token());
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { id: 41, name: service.team.name() },
      ]);
      expect(service.team.users()).toHaveLength(50);
      service.team.revokeSecret(service.environment['MUSTERD_SECRET_ID'] ?? '');
      service.team.setApiKey('legacy');
      expect(service.team.token()).toBe('legacy');
      expect((await ask('legacy')).status).toBe(200);
    }
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('creates tokens that are valid even after a test has moved the emulator’s clock', async () => {
    await using service = await startEmulator({ users: 1 });
    service.clock.advance(3_600_000);
    const headers = { authorization: `Bearer ${service.team.token()}` };
    expect((await fetch(`${service.url}/v1/team`, { headers })).status).toBe(200);
  });
});
