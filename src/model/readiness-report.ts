/** The result of a check. `unknown`: the check was not made yet, and the daemon can be ready nevertheless. */
export type CheckState = 'ok' | 'failing' | 'unknown';

/** The conditions that a daemon needs to work. */
export interface ReadyChecks {
  /** `ok` if the database answers. */
  readonly database: CheckState;
  /** `ok` if the schema belongs to this version of musterd. */
  readonly migrations: CheckState;
  /** `ok` if the service accepts credentials. It is `failing` if the credentials of every team are refused. */
  readonly credentials: CheckState;
}

export function isReady({ database, migrations, credentials }: ReadyChecks): boolean {
  return [database, migrations, credentials].every((state) => state !== 'failing');
}
