/**
 * Edits that the service's own last change of the user came after, though it shows the value that the edit was made
 * on: a backup was restored, and what it had pending was sent and taken back since then; or somebody has just set
 * the value and set it back. What becomes of an edit whose field has not moved on the service:
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
 * Newer: `updated_at` or `user_updated_at`; without them, or before the mirror has one, nothing is. The answer to
 * a push of ours is on record like any read (`applyResults`), unless nobody knows whether it had its effect: then it
 * may have had, and somebody may have taken it back. Versions tell something unless many users were seen
 * with a newer one and the same values, as where a login counts as a change. Since then: by more than a minute, since
 * the two clocks may part. Held once: the hold puts the version on record, so that it is not newer in the next run.
 */

import { stored } from '../../model/canonical.ts';
import type { UserState, Versions } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import {
  type BaseUser,
  type Field,
  fields,
  readable,
  type ServiceUser,
  type ServiceValue,
} from '../../model/user.ts';

export const overtakenDetail =
  'the service changed this user after the edit, and shows the value from before it: "musterd resolve" with --take mirror sends the edit, with --take service drops it; another value is sent as well';

export function isOvertaken({ isNewer, isTelling, isEditedSince }: Versions, hasMoved: boolean): boolean {
  return isNewer && isTelling && !isEditedSince && !hasMoved;
}

/** No name at all is stored as an empty one, and an empty address as none. */
function asStored(field: Field, value: ServiceValue): ServiceValue {
  if (field === 'name') return value ?? '';
  return field === 'roleId' ? (value ?? null) : stored((value ?? null) as string | null);
}

type Known = Pick<UserState, 'base' | 'held'>;

function lastShown(field: Field, { held }: Known, base: BaseUser): ServiceValue {
  const hold = held.find((one) => one.field === field);
  if (hold !== undefined) return hold.shown ?? null;
  return field === 'name' ? base.joined : base[field];
}

/** Whether any value of the service is another than it last showed. */
export function hasMoved(state: Known, service: ServiceUser): boolean {
  const { base } = state;
  if (base === undefined) return true;
  return fields.some((field) => {
    const said = readable<string | Id>(service[field]);
    return said !== undefined && asStored(field, said) !== asStored(field, lastShown(field, state, base));
  });
}
