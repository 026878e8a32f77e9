/** Reads held fields, and groups them into batches. */
import { type HeldRow, readHeldFields } from '../../mirror/users/held.ts';
import { requireTeamId, requireUser } from '../named-user.ts';
import type { Setup } from '../open.ts';

export type { HeldRow } from '../../mirror/users/held.ts';

/** The edits of one person that one run held, with the commands that decide about them. */
export interface Batch {
  readonly batch: string;
  readonly edited_by: string | null;
  readonly edited_at: Date | null;
  readonly since: Date;
  readonly users: number;
  readonly fields: number;
  readonly reasons: Readonly<Partial<Record<HeldRow['reason'], number>>>;
  readonly commands: readonly string[];
}

/** The batches of these rows, the oldest first. @param as the option `--as` to add to the commands, or empty */
export function batchesOf(rows: readonly HeldRow[], as: string): readonly Batch[] {
  return [...Map.groupBy(rows, ({ batch }) => batch)].flatMap(([batch, held]) => {
    const [first] = held;
    if (batch === null || first === undefined) return [];
    const counts = [...Map.groupBy(held, ({ reason }) => reason)].map(([reason, of]) => [reason, of.length]);
    const reasons: Batch['reasons'] = Object.fromEntries(counts);
    const { limit = 0, review = 0, asked = 0 } = reasons;
    const [approved, resolved] = [limit + review > 0, limit + review + asked < held.length];
    const commands = [
      ...(approved ? [`musterd approve ${batch}${as} --reason …`] : []),
      ...(resolved ? [`musterd resolve --batch ${batch}${as} --take mirror, or --take service`] : []),
      `musterd reject ${batch}${as}`,
    ];
    const { edited_by, edited_at, since } = first;
    const users = new Set(held.map(({ user_id }) => user_id)).size;
    return [{ batch, edited_by, edited_at, since, users, fields: held.length, reasons, commands }];
  });
}

/** Reads the held fields of all users, or of one user. */
export async function readHeldOf(setup: Setup, userText: string | undefined): Promise<readonly HeldRow[]> {
  const teamId = await requireTeamId(setup);
  const user = userText === undefined ? undefined : await requireUser(setup, teamId, userText);
  return await readHeldFields(setup.mirror.db.kysely, teamId, { userId: user?.id });
}
