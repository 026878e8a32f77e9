import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Context } from '../../src/commands/context.ts';
import { holdCommand } from '../../src/commands/decide/hold.ts';
import { reconcileCommand } from '../../src/commands/sync/reconcile.ts';
import { resyncCommand } from '../../src/commands/sync/resync.ts';
import { undoCommand } from '../../src/commands/decide/undo.ts';
import { MusterdError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { type Lease, takeLease } from '../../src/mirror/team/lease.ts';
import { alsoAt } from '../support/also-at.ts';
import { eventually } from '../support/eventually.ts';
import { hungAfterMs } from '../support/limits.ts';
import { countStatements, type SentStatements } from '../support/sent-statements.ts';
import { createStage, type Stage } from './stage.ts';

/** L1: a person decides something while a run is under way. */
describe('a command that waits for another run', () => {
  let stage: Stage;
  let lease: Lease;
  let sent: SentStatements;
  let userId = '';
  beforeEach(async () => {
    stage = await createStage({ emulator: { users: 6, tags: 12, fields: 1 } });
    await stage.run();
    userId = String(stage.emulator.team.users()[0]?.id);
    sent = await countStatements(stage.url);
    await alsoAt(stage.db, sent.url);
    lease = await takeLease(stage.db, 'default', { ttlMs: 2 * hungAfterMs });
  });
  afterEach(async () => {
    await sent.close();
    await lease.release();
    await stage.close();
  });

  const environment = () => ({
    ...stage.emulator.environment,
    DATABASE_URL: sent.url,
  });
  /** All that one of these commands could have written. */
  const written = () =>
    stage.sql(
      `select 'h', count(*) from sync.held_fields union all
       select 'r', count(*) from sync.runs union all
       select 'u', count(*) from mirror.users where edited_at is not null union all
       select 'l', count(*) from sync.leases`,
    );

  /** Whether whoever is given this url has asked who holds the lease. */
  const asksForLease = () => sent.take().some((text) => text.includes('from sync.leases where team'));

  const createTerminal = (isTTY: boolean) => {
    const stop = new AbortController();
    const lines: string[] = [];
    const context: Context = {
      env: environment(),
      version: '0.0.0',
      out: { write: () => true },
      err: { isTTY, write: (text) => lines.push(text) },
      signal: stop.signal,
      configFile: undefined,
      team: undefined,
      waitMs: 600_000,
      json: false,
      explain: () => ({ code: 1, told: undefined }),
      createLog: () => createLog({ level: 'silent' }),
    };
    return { context, lines, stop: () => stop.abort(new MusterdError('stopped', 'Stopped on request')) };
  };

  const commands: readonly (readonly [string, (context: Context) => Promise<number>])[] = [
    ['hold', (context) => holdCommand(context, { until: '2h', reason: 'legal' }, userId, 'email')],
    ['hold --end', (context) => holdCommand(context, { end: true }, userId, 'email')],
    ['undo --apply', (context) => undoCommand(context, { apply: true }, '1')],
    ['resync --apply', (context) => resyncCommand(context, { adoptService: true, apply: true })],
    ['reconcile --wait', (context) => reconcileCommand(context)],
  ];

  it.each(commands)('musterd %s shows that it waits, and writes nothing when stopped', async (_, run) => {
    const before = await written();
    const { context, lines, stop } = createTerminal(true);
    const said = () => lines.filter((line) => line.startsWith('Waiting'));
    const ended = run(context).catch((error: unknown) => error);
    await eventually('it says that it waits', () => said().length > 0);
    stop();
    expect(await ended).toMatchObject({
      code: 'stopped',
      message: 'Stopped before anything was written',
    });
    expect(said()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^Waiting up to 600 seconds for another run of team "default": process ${process.pid}, since \\S+Z; Ctrl-C ends the wait …\\n$`,
        ),
      ),
    ]);
    expect(await written()).toEqual(before);
  });

  it('musterd hold prints nothing without a terminal, and holds the field when the other run has ended', async () => {
    const { context, lines } = createTerminal(false);
    const ended = holdCommand(context, { until: '2h', reason: 'legal' }, userId, 'email');
    await eventually('it asks for the lease', asksForLease);
    await lease.release();
    expect(await ended).toBe(0);
    expect(lines).toEqual([]);
    expect(await stage.sql(`select reason from sync.held_fields`)).toEqual([['asked']]);
  });
});
