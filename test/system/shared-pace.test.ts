import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/commands/program.ts';
import { ownFolder } from './own-folder.ts';
import { createStage, type Stage } from './stage.ts';

/** The team's limit is one for all commands: each request of each of them takes its place in the shared row. */
describe('commands and the shared rate limit', () => {
  let stage: Stage;
  const file = join(ownFolder(), 'people.csv');
  let email: string;
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 4, tags: 3, fields: 1 } });
    email = stage.emulator.team.users().find((user) => user.email !== null)?.email ?? '';
    writeFileSync(file, 'id,email\n41000001,new@example.com');
  });
  afterAll(() => stage.close());

  const silent = { write: () => true };

  const calling = (): readonly (readonly string[])[] => [
    ['reconcile'],
    ['api', 'GET', '/v1/team'],
    ['check'],
    ['check', '--write-probe', email],
    ['plan'],
    ['resync', '--adopt-service'],
    ['resync', '--adopt-service', '--apply'],
    ['verify'],
    ['why', email],
    ['tag', 'create', 'VIP', '--yes'],
    ['schedule', 'cancel', '1', '--yes'],
    ['conversations', 'read', '--inbox', '1', '--user', email, '--target', '15550100', '--yes'],
  ];
  const notCalling = (): readonly (readonly string[])[] => [
    ['adopt', '--reason', 'test', '--yes'],
    ['approve', '00000000', '--reason', 'test'],
    ['reject', '00000000'],
    ['withdraw'],
    ['changes'],
    ['export'],
    ['held'],
    ['hold', '1', 'email', '--until', '2h', '--reason', 'test'],
    ['import', file, '--yes'],
    ['migrate'],
    ['resolve', '1', 'email', '--take', 'mirror', '--edit', '1'],
    ['sql', 'select 1'],
    ['status'],
    ['undo', '1'],
  ];
  /** The daemon does what `reconcile` does, by the same function; the demo has a service of its own; the page calls none. */
  const others = ['completion', 'daemon', 'demo', 'emulator', 'page'];

  it('commands count against the limit if they call the service, but not if they only use the database', async () => {
    for (const [isCalling, commands] of [
      [true, calling()],
      [false, notCalling()],
    ] as const) {
      for (const args of commands) {
        stage.emulator.clearRequests();
        await stage.sql(`update sync.learned set learned_at = '2000-01-01' where topic = 'pace'`);
        await stage.musterd(...args);
        const [[isTaken] = []] = await stage.sql(
          `select coalesce(bool_or(learned_at > '2000-01-02'), false) from sync.learned where topic = 'pace'`,
        );
        const requests = stage.emulator.requests.length;
        expect([args.join(' '), isTaken, requests > 0]).toEqual([
          args.join(' '),
          String(isCalling),
          isCalling,
        ]);
      }
    }
    const wire = () => undefined;
    const program = createProgram({ version: '0.0.0', out: silent, err: silent, wire });
    const tried = [...calling(), ...notCalling()].map(([name = '']) => name);
    expect(program.commands.map((command) => command.name()).toSorted()).toEqual(
      [...new Set([...tried, ...others])].toSorted(),
    );
  });
});
