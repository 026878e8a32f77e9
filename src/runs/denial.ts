/** What a person is told whose login of the database may not do what a command does. */
import { MusterdError } from '../errors.ts';

/** The role that a command needs. All others that write belong to whoever runs musterd. */
const neededBy: Readonly<Record<string, string>> = {
  approve: 'musterd_approver',
  reject: 'musterd_approver',
  resolve: 'musterd_approver',
  hold: 'musterd_editor or musterd_approver',
  import: 'musterd_editor, and musterd_role_editor for roles',
  ...Object.fromEntries(
    ['status', 'held', 'why', 'changes', 'export', 'withdraw'].map((name) => [name, 'musterd_reader']),
  ),
};

/** Whether Postgres refuses it for want of a right. It is asked before anything of Postgres is loaded. */
const isRefused = (error: unknown): error is Error =>
  error instanceof Error && 'severity' in error && 'code' in error && error.code === '42501';

/** @param command such as `musterd approve`; `musterd sql` says what Postgres says */
export function describeDenial(error: unknown, command: string): unknown {
  const name = command.replace('musterd ', '');
  if (!isRefused(error) || name === 'sql') return error;
  const isPlain = /^(?:permission denied|must be owner)/.test(error.message);
  const role = neededBy[name];
  const needs = role === undefined ? 'the login that owns the mirror' : `the role ${role}`;
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
  return new MusterdError(
    'denied',
    isPlain ? `This login may not do it: "${command}" needs ${needs} (${error.message})` : error.message,
    { hint: hint ?? 'What each login may do is in docs/guide.md, "Logins of people".', cause: error },
  );
}
