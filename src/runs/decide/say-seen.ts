/** The command-line options that state what a person saw of a held field. `readSeen` reads these options. */
import { isApprovable } from '../../model/user-plan.ts';
import { valueFromJson } from '../../mirror/db/field-sql.ts';
import { columnOf, type Field, fieldOf, type FieldValue, typedText } from '../../model/fields.ts';
import type { HeldRow } from '../../mirror/users/held.ts';
import type { Id } from '../../model/id.ts';
import { printable, quoted } from '../../model/in-words.ts';
import { canonicalShown, type ServiceValue, sameValue } from '../../model/user.ts';
import { readSeen, readShown } from './read-take.ts';

export interface SeenHold {
  readonly field: Field;
  readonly edit: Id | undefined;
  readonly mirror: FieldValue;
  /** The service's value, as a run last saw it. */
  readonly service: ServiceValue;
}

/** The option that states the mirror's value, such as `--if 'Ada|Berg'`; `--edit 12` if no text states it exactly. */
function sayMirror({ field, edit, mirror }: Omit<SeenHold, 'service'>): string {
  const text = typedText(mirror);
  const isExact = () => {
    const seen = readSeen(field, { if: text });
    return seen?.kind === 'value' && sameValue(field, seen.value, mirror);
  };
  const hasBars = text.split('|').length > (field === 'name' ? 2 : 1);
  const isPlain = !hasBars && printable(text) === text && isExact();
  return edit !== undefined && !isPlain ? `--edit ${edit}` : `--if ${quoted(text)}`;
}

/** The option that states the service's value, such as `--if-service 'Eva Berg'`; empty if no text states it exactly. */
function sayService({ field, service = null }: Pick<SeenHold, 'field' | 'service'>): string {
  const text = service === null ? '' : String(service);
  const isExact = canonicalShown(field, readShown(field, text)) === canonicalShown(field, service);
  return printable(text) === text && isExact ? ` --if-service ${quoted(text)}` : '';
}

export const saySeen = (seen: SeenHold): string => `${sayMirror(seen)}${sayService(seen)}`;

/** The command that decides about the field. If the field has changed since it was seen, nothing is decided. */
export const sayResolve = (id: Id, seen: SeenHold, take = 'mirror'): string =>
  `musterd resolve ${id} ${columnOf(seen.field)} --take ${take} ${saySeen(seen)}`;

/** A row of `report.held`, as it was shown to a person. */
export type ShownRow = Pick<HeldRow, 'field' | 'edit_id' | 'mirror_value' | 'service_value'>;

export function seenOf({ field: column, edit_id, mirror_value, service_value }: ShownRow): SeenHold {
  const field = fieldOf(column);
  const service = field === 'name' ? service_value : valueFromJson(field, service_value);
  return {
    field,
    edit: edit_id ?? undefined,
    mirror: valueFromJson(field, mirror_value),
    service: service as ServiceValue,
  };
}

/** The command and its opposite, as alternatives. @param as what the login adds to a command that decides */
export const sayEither = (command: string, as: string): string =>
  `${command}${as}, or ${command.includes(' --take ') ? '--take service' : `${command.replace('approve', 'reject')}${as}`}`;

/** A command for each row: `approve` if a limit or a review holds the row, else `resolve`, which chooses a side. */
export function sayDecideEach(rows: readonly HeldRow[]): readonly string[] {
  return rows.flatMap((row) => {
    if (row.reason === 'asked') return [];
    if (!isApprovable(row.reason)) return [sayResolve(row.user_id, seenOf(row))];
    return row.batch === null
      ? []
      : [`musterd approve ${row.batch} --only ${row.user_id}.${row.field} --reason …`];
  });
}
