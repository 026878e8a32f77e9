/** The daemons that serve teams, known from the reports that each daemon stores in the database. */

/** How a daemon ended: `asked` if it stopped on request, `failed` if it gave up after an error. */
export type DaemonEnd = 'asked' | 'failed';

export interface SeenDaemon {
  /** A process that serves several teams is listed once for each. */
  readonly team: string;
  readonly host: string;
  readonly pid: bigint;
  readonly bySystemd: boolean;
  readonly startedAt: Date;
  /** The time of the daemon's last report. */
  readonly seenAt: Date;
  readonly endedAt: Date | null;
  /** `null` if the daemon runs, or ended without reporting its end. */
  readonly how: DaemonEnd | null;
}

/** Ms between two reports of a daemon. */
export const sayEveryMs = 60_000;

/** After this long without a report a daemon counts as stopped: two reports in a row may be lost or late. */
export const silentAfterMs = 3 * sayEveryMs;

export const isUp = ({ seenAt, endedAt }: Pick<SeenDaemon, 'seenAt' | 'endedAt'>, now: Date): boolean =>
  endedAt === null && now.getTime() - seenAt.getTime() <= silentAfterMs;

export const lastSign = ({ seenAt, endedAt }: Pick<SeenDaemon, 'seenAt' | 'endedAt'>): Date =>
  endedAt ?? seenAt;

/**
 * The daemon of a team that stopped last, if all daemons of the team have stopped:
 *
 * | the team's daemons               | result                           |
 * |----------------------------------|----------------------------------|
 * | none has ever reported           | none: a daemon may still run     |
 * | one or more run                  | none                             |
 * | all have ended, or are silent    | the daemon with the last report  |
 */
export function stoppedOf(daemons: readonly SeenDaemon[], team: string, now: Date): SeenDaemon | undefined {
  const own = daemons.filter((daemon) => daemon.team === team);
  if (own.some((daemon) => isUp(daemon, now))) return undefined;
  return own.toSorted((a, b) => lastSign(b).getTime() - lastSign(a).getTime())[0];
}
