/** What a person is told whose login of the database may not do what a command does. */
import { MusterdError } from '../errors.ts';
import { sqlState } from '../mirror/db/database-errors.ts';

/** The role that a command needs. All others that write belong to whoever runs musterd. */
const neededBy: Readonly<Record<string, string>> = {
  approve: 'musterd_approver',
  reject: 'musterd_approver',
  import: 'musterd_editor, and musterd_role_editor for roles',
  ...Object.fromEntries(
    ['status', 'held', 'why', 'changes', 'export', 'inboxes', 'surveys'].map((name) => [
      name,
      'musterd_reader',
    ]),
  ),
};

/** @param name of the command; `sql` says what Postgres says */
export function describeDenial(error: unknown, name: string): unknown {
  const isOurs = error instanceof MusterdError || name === 'sql';
  if (isOurs || !(error instanceof Error) || sqlState(error) !== '42501') return error;
  const isPlain = error.message.startsWith('permission denied') || error.message.startsWith('must be owner');
  const role = neededBy[name];
  const needs = role === undefined ? 'the login that owns the mirror' : `the role ${role}`;
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
  return new MusterdError(
    'denied',
    isPlain ? `musterd ${name} needs ${needs}: ${error.message}` : error.message,
    {
      hint: hint ?? 'docs/guide.md says what each login may do ("Logins of people").',
      cause: error,
    },
  );
}
