/** The error for a person whose database login lacks a right that a command needs. */
import { MusterdError } from '../errors.ts';

/** The role that each command needs. A command that is not named needs the login that owns the mirror. */
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

/** True if Postgres reports a missing right. The check imports no Postgres client, which might not be loaded yet. */
const isRefused = (error: unknown): error is Error =>
  error instanceof Error && 'severity' in error && 'code' in error && error.code === '42501';

/** An error that names the role that the command needs. Returns other errors, and errors of `musterd sql`, unchanged. */
export function describeDenial(error: unknown, command: string): unknown {
  const name = command.replace('musterd ', '');
  if (!isRefused(error) || name === 'sql') return error;
  const isPlain = /^(?:permission denied|must be owner)/.test(error.message);
  const role = neededBy[name];
  const needs = role === undefined ? 'the login that owns the mirror' : `the role ${role}`;
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
  return new MusterdError(
    'denied',
    isPlain ? `This login may not run "${command}": it needs ${needs} (${error.message})` : error.message,
    { hint: hint ?? 'What each login may do is in docs/guide.md, "Logins of people".', cause: error },
  );
}
