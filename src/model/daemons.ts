/** The daemons that serve teams, as far as they report it. */

/** The end is `asked` if somebody asked the daemon to stop, and `failed` if it gave up. */
export type DaemonEnd = 'asked' | 'failed';

export interface SeenDaemon {
  /** A process that serves several teams is listed once for each. */
  readonly team: string;
  readonly host: string;
  readonly pid: bigint;
  readonly bySystemd: boolean;
  readonly startedAt: Date;
  /** The last time at which it reported. */
  readonly seenAt: Date;
  readonly endedAt: Date | null;
  /** `null` if it runs, or ended without a report. */
  readonly how: DaemonEnd | null;
}

/** How often a daemon reports. */
export const sayEveryMs = 60_000;

/** Two reports in a row may be lost or late. */
export const silentAfterMs = 3 * sayEveryMs;

export const isUp = ({ seenAt, endedAt }: Pick<SeenDaemon, 'seenAt' | 'endedAt'>, now: Date): boolean =>
  endedAt === null && now.getTime() - seenAt.getTime() <= silentAfterMs;

export const lastSign = ({ seenAt, endedAt }: Pick<SeenDaemon, 'seenAt' | 'endedAt'>): Date =>
  endedAt ?? seenAt;

/**
 * The last daemon of a team of which none runs:
 *
 * | the team's daemons               | result                           |
 * |----------------------------------|----------------------------------|
 * | none has ever said that it runs  | nothing: somebody may run it     |
 * | one or more run                  | nothing                          |
 * | all have ended, or are silent    | the one of which we heard last   |
 */
export function stoppedOf(daemons: readonly SeenDaemon[], team: string, now: Date): SeenDaemon | undefined {
  const own = daemons.filter((daemon) => daemon.team === team);
  if (own.some((daemon) => isUp(daemon, now))) return undefined;
  return own.toSorted((a, b) => lastSign(b).getTime() - lastSign(a).getTime())[0];
}
