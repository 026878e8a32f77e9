/** What a person has to see of a held field before they decide about it. */
import { readLastEdits } from '../mirror/users/last-edits.ts';
import { readUserState } from '../mirror/users/users-read.ts';
import { columnOf } from '../model/field-values.ts';
import type { Id } from '../model/id.ts';
import { printable } from '../model/in-words.ts';
import type { NamePair } from '../model/name.ts';
import { shownDigest } from '../model/shown-field.ts';
import { type Field, sameBytes, type ServiceValue } from '../model/user.ts';
import type { FieldValue } from '../model/user-plan.ts';
import type { EditedField } from '../model/waiting.ts';
import { requireTeamId, requireUser } from './named-user.ts';
import type { Setup } from './open.ts';
import { readSeen } from './read-take.ts';
import { requireHeld } from './require-held.ts';

/** A held field as it is now. */
export interface HeldNow {
  readonly id: Id;
  readonly name: string;
  readonly field: Field;
  readonly detail: string;
  readonly base: FieldValue;
  readonly mirror: FieldValue;
  /** As a run last saw it. */
  readonly service: ServiceValue;
  /** Stands for all of this: see `shownDigest`. */
  readonly digest: string;
  /** The number of the edit; `undefined`: none, as where the service alone has moved. */
  readonly edit: Id | undefined;
  readonly edited: EditedField | undefined;
  /** Names what is there on a command line: `--if 'Ada|Berg'`, or `--edit 12` where no text says the value exactly. */
  readonly named: string;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The mirror's value as `--if` reads it. */
function inWords(value: FieldValue): string {
  if (value === null) return '';
  return typeof value === 'object' ? `${value.first}|${(value as NamePair).last}` : String(value);
}

function nameSeen({
  field,
  mirror,
  edit,
}: Pick<HeldNow, 'field' | 'edit'> & { readonly mirror: Parameters<typeof sameBytes>[1] }): string {
  const text = inWords(mirror[field]);
  const isExact = () => {
    const seen = readSeen(field, { if: text });
    return seen?.kind === 'value' && sameBytes(field, { ...mirror, [field]: seen.value }, mirror);
  };
  const hasBars = text.split('|').length > (field === 'name' ? 2 : 1);
  const isPlain = !hasBars && printable(text) === text && isExact();
  return edit !== undefined && !isPlain ? `--edit ${edit}` : `--if ${quoted(text)}`;
}

/** @throws MusterdError `usage` if there is nothing to resolve */
export async function readHeldNow(setup: Setup, who: string, field: Field): Promise<HeldNow> {
  const { kysely } = setup.mirror.db;
  const teamId = await requireTeamId(setup);
  const { id } = await requireUser(setup, teamId, who);
  const state = await readUserState(kysely, teamId, id);
  const { hold, mirror, base } = await requireHeld(kysely, teamId, state, { field });
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
    edited: edits.find((one) => columnOf(one.field) === columnOf(field)),
    named: nameSeen({ field, mirror, edit }),
  };
}
