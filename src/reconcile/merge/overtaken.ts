/**
 * Edits that are older than the service's last change of the user, although the service shows the base of the edit:
 * a backup was restored, and its pending edit had been sent and taken back since; or somebody has just changed
 * the value and changed it back. What happens to an edit whose field has not moved on the service:
 *
 * | the version is newer | versions tell | it was edited | another value of the | the edit     |
 * | than the mirror's    | something     | since then    | user has moved       |              |
 * |----------------------|---------------|---------------|----------------------|--------------|
 * | no                   | ·             | ·             | ·                    | is sent      |
 * | yes                  | no            | ·             | ·                    | is sent      |
 * | yes                  | yes           | yes           | ·                    | is sent      |
 * | yes                  | yes           | no            | yes                  | is sent      |
 * | yes                  | yes           | no            | no                   | is held once |
 *
 * Version: `updated_at` and `user_updated_at`; without them, or if the mirror has none, nothing counts as newer. The
 * version in the answer to our own push is stored like that of any read (`applyResults`), unless the outcome is unknown:
 * then somebody may have taken the push back (a push that is not answered and not there is held by itself, if the service has
 * changed the user since: `push/result.ts`); or unless the user was read back, and people decided about another of its
 * edits, over an older version. Versions tell nothing if many users had a newer one with the same values,
 * as when a login counts as a change. Edited since then: the edit of this field, by more than a
 * minute, because the two clocks may differ. Held once: the hold stores the version, so that it is not newer in the next run.
 */

import { holdOn } from './held-field.ts';
import { type Field, fields, storedValue } from '../../model/fields.ts';
import type { UserState, Versions } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import { type BaseUser, readable, type ServiceUser, type ServiceValue } from '../../model/user.ts';

export const overtakenDetail =
  'the service changed this user after the edit, and shows the value from before it: "musterd resolve" with --take mirror sends the edit, with --take service drops it; another value is sent as well';

export function isOvertaken({ isNewer, isTelling }: Versions, isSince: boolean, moved: boolean): boolean {
  return isNewer && isTelling && !isSince && !moved;
}

/** An empty text counts as none. */
const asStored = (value: ServiceValue): ServiceValue => storedValue(value ?? null);

type BaseAndHolds = Pick<UserState, 'base' | 'held'>;

function lastShown(field: Field, state: BaseAndHolds, base: BaseUser): ServiceValue {
  const hold = holdOn(field, state);
  if (hold !== undefined) return hold.shown ?? null;
  return field === 'name' ? base.joined : base[field];
}

/** Whether any value of the service differs from the last one shown. */
export function hasMoved(state: BaseAndHolds, service: ServiceUser): boolean {
  const { base } = state;
  if (base === undefined) return true;
  return fields.some((field) => {
    const value = readable<string | Id>(service[field]);
    return value !== undefined && asStored(value) !== asStored(lastShown(field, state, base));
  });
}
