/** Reads everything that a person has to see of a held field before deciding about it. */
import { readLastEdits } from '../../mirror/users/last-edits.ts';
import { readUserState } from '../../mirror/users/users-read.ts';
import { columnOf, type Field, type FieldValue } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { shownDigest } from '../../model/shown-field.ts';
import type { ServiceValue } from '../../model/user.ts';
import type { EditedField } from '../../model/waiting.ts';
import { requireTeamId, requireUser } from '../named-user.ts';
import type { Setup } from '../open.ts';
import { requireHeld } from './require-held.ts';

export interface HeldNow {
  readonly id: Id;
  readonly name: string;
  readonly field: Field;
  readonly detail: string;
  readonly base: FieldValue;
  readonly mirror: FieldValue;
  /** The service's value, as a run last saw it. */
  readonly service: ServiceValue;
  /** The digest of the edit and of both sides' values; see `shownDigest`. */
  readonly digest: string;
  /** The number of the edit. It is `undefined` if only the service's value has changed. */
  readonly edit: Id | undefined;
  readonly edited: EditedField | undefined;
}

/** @throws MusterdError `usage` if there is nothing to resolve */
export async function readHeldNow(setup: Setup, userText: string, field: Field): Promise<HeldNow> {
  const { kysely } = setup.mirror.db;
  const teamId = await requireTeamId(setup);
  const { id } = await requireUser(setup, teamId, userText);
  const state = await readUserState(kysely, teamId, id);
  const { hold, mirror, base } = requireHeld(state, field);
  const edits = await readLastEdits(kysely, teamId, [id]);
  const { edit, detail, shown: service = hold.service } = hold;
  return {
    id,
    name: mirror.joined,
    field,
    detail,
    base: base[field],
    mirror: mirror[field],
    service,
    digest: shownDigest({ edit, mirror: mirror[field], service }),
    edit,
    edited: edits.find((edit) => columnOf(edit.field) === columnOf(field)),
  };
}
