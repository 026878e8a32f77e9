/** Reports fields that are absent or unreadable in the service's answers. They are neither pulled nor pushed. */
import { type Field, fields, columnOf } from '../model/fields.ts';
import type { UserState } from '../model/user-state.ts';
import { firstOf } from '../model/in-words.ts';
import type { RunNotes } from './run-notes.ts';
import { unreadOf } from './merge/merge-field.ts';

/** True if the service's value of this field is unknown. */
export function isUnread(field: Field, { base, service }: Pick<UserState, 'base' | 'service'>): boolean {
  return service !== undefined && unreadOf(field, base, service) !== undefined;
}

/**
 * @param shown the number of users that the service shows. If a field of more than half of these users cannot be read,
 * the form of the answers must have changed, and the run is partial.
 */
export function noteUnread(
  notes: Pick<RunNotes, 'warn' | 'partial'>,
  states: readonly UserState[],
  shown: number,
): void {
  for (const field of fields) {
    const column = columnOf(field);
    const idsWith = (why: ReturnType<typeof unreadOf>) =>
      states
        .filter(({ base, service }) => service !== undefined && unreadOf(field, base, service) === why)
        .map(({ id }) => id);
    const [odd, leftOut] = [idsWith('unreadable'), idsWith('left out')];
    const stays = 'and stays as it is on both sides';
    if (odd.length > 0)
      notes[odd.length * 2 > shown ? 'partial' : 'warn'](
        `the ${column} of ${odd.length} users cannot be read in the service's answers, ${stays}: ${firstOf(odd, 3)}`,
      );
    if (leftOut.length > 0)
      notes.warn(
        `the ${column} of ${leftOut.length} users, who had one, is left out of the service's answers, ${stays}: ${firstOf(leftOut, 3)}`,
      );
  }
}
