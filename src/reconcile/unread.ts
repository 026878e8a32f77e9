/**
 * Reports fields that are absent or unreadable in the service's answers. They are neither pulled nor pushed, and the run
 * always says so.
 *
 * | number of users with such a field            | the run   |
 * |----------------------------------------------|-----------|
 * | at most `maxDrift` of all                    | a warning |
 * | more, but at most three, and at most half    | a warning |
 * | more                                         | partial   |
 *
 * A field does not count if a person approved that many users no longer have it.
 */
import { type Field, fields, columnOf } from '../model/fields.ts';
import type { UserState } from '../model/user-state.ts';
import type { Id } from '../model/id.ts';
import type { RunNote } from './run-notes.ts';
import { unreadOf } from './merge/merge-field.ts';
import type { MirrorPort } from './ports.ts';

/** Whether the service's value of any field of this user is unknown. */
export function isUnread(field: Field, { base, service }: Pick<UserState, 'base' | 'service'>): boolean {
  return service !== undefined && unreadOf(field, base, service) !== undefined;
}

const fewUsers = 3;

export function isFew(users: number, population: number, maxDrift: number): boolean {
  return users <= population * maxDrift || (users <= fewUsers && users * 2 <= population);
}

/** Number of users to name. */
const named = 3;

function nameSome(ids: readonly Id[]): string {
  const more = ids.length > named ? ` and ${ids.length - named} more` : '';
  return `${ids.slice(0, named).join(', ')}${more}`;
}

/** Text by field and cause. */
function sayUnread(field: Field, states: readonly UserState[]): readonly string[] {
  const column = columnOf(field);
  const namesWith = (why: ReturnType<typeof unreadOf>) =>
    states
      .filter(({ base, service }) => service !== undefined && unreadOf(field, base, service) === why)
      .map(({ id }) => id);
  const [odd, leftOut] = [namesWith('unreadable'), namesWith('left out')];
  const say = (ids: readonly Id[], what: string) =>
    ids.length === 0 ? [] : [`${what}, and stays as it is on both sides: ${nameSome(ids)}`];
  return [
    ...say(odd, `the ${column} of ${odd.length} users cannot be read in the service's answers`),
    ...say(
      leftOut,
      `the ${column} of ${leftOut.length} users, who had one, is left out of the service's answers`,
    ),
  ];
}

/** @param accepted fields for which a person approved that many users lack them: only a warning */
export function unreadNotes(
  states: readonly UserState[],
  { population, maxDrift }: { readonly population: number; readonly maxDrift: number },
  accepted: readonly Field[],
): readonly RunNote[] {
  const open = fields.filter((field) => !accepted.includes(field));
  const users = states.filter((state) => open.some((field) => isUnread(field, state))).length;
  const few = isFew(users, population, maxDrift);
  return fields.flatMap((field) => {
    const kind = few || accepted.includes(field) ? 'warn' : 'partial';
    return sayUnread(field, states).map((text) => ({ kind, text }) as const);
  });
}

/** Like `unreadNotes`, with the approvals, which are read only if something is unreadable. */
export async function readUnreadNotes(
  mirror: Pick<MirrorPort, 'readGuardHistory'>,
  states: readonly UserState[],
  scale: { readonly population: number; readonly maxDrift: number },
): Promise<readonly RunNote[]> {
  if (!states.some((state) => fields.some((field) => isUnread(field, state)))) return [];
  const { accepted } = await mirror.readGuardHistory();
  return unreadNotes(states, scale, accepted);
}
