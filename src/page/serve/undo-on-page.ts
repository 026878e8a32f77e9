/** Takes a decision back on the page: it asks once more, then uses the code of the command. */
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import { columnOf } from '../../model/fields.ts';
import { readDecided } from '../read/page-decided.ts';
import type { PageFrame } from '../read/page-reader.ts';
import { readSending } from '../read/page-waiting-view.ts';
import { readFourEyes } from '../../mirror/team/pinned-teams.ts';
import type { UndoQuestion } from '../render/undo-question.ts';
import { type FieldLeftAlone, undoKeys, type UndoPlan } from '../../runs/inverse.ts';
import type { Mirror } from '../../runs/open.ts';
import { planUndo } from '../../runs/undo-run.ts';
import { readUndoForm } from './decision-form.ts';

/** The effect of taking it back, or why that cannot be said. */
export type PlannedUndo =
  | { readonly number: bigint; readonly plan: UndoPlan; readonly fourEyes: boolean }
  | { readonly refusal: MusterdError };

/**
 * Needs another transaction than the page's own, which is read-only: the code that takes a decision back also says what
 * it would do.
 * @returns `null` if the form asks for something else
 */
export async function planUndoOf(
  {
    mirror: { db },
    configs,
  }: { readonly mirror: Pick<Mirror, 'db'>; readonly configs: () => readonly Config[] },
  form: URLSearchParams,
): Promise<PlannedUndo | null> {
  const config = configs().find(({ team }) => team === form.get('team'));
  if (form.get('verb') !== 'Undo' || config === undefined) return null;
  try {
    const { number } = readUndoForm(form);
    const plan = await planUndo(db.kysely, config, { kind: 'decision', number });
    const fourEyes = (await readFourEyes(db.kysely, config.team)) ?? config.push.fourEyes;
    return { number, plan, fourEyes };
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    return { refusal: error };
  }
}

const rowOf = ({ userId, name, field }: Pick<FieldLeftAlone, 'userId' | 'name' | 'field'>) => ({
  userId,
  name,
  field: field === null ? '' : columnOf(field),
});

/** The rows that are not as they were shown, each with what is known about it now. */
function movedOf({ changes, undecided, left }: UndoPlan, shown: readonly string[]) {
  const now = new Set(undoKeys({ changes, undecided }));
  const gone = new Set(shown.filter((key) => !now.has(key)).map((key) => key.slice(0, key.lastIndexOf('.'))));
  const others = [...changes, ...undecided].map((one) => ({ ...rowOf(one), reason: 'another value by now' }));
  const all = [...others, ...left.map((one) => ({ ...rowOf(one), reason: one.reason }))];
  return all.filter(({ userId, field }) => gone.has(`${userId}.${field}`));
}

/** @param shown what the person saw, if nothing was done and the question comes back */
export async function askUndo(
  planned: Exclude<PlannedUndo, { readonly refusal: MusterdError }>,
  { reader }: Pick<PageFrame, 'reader'>,
  refused: { readonly shown: readonly string[]; readonly why: string } | null,
): Promise<UndoQuestion> {
  const { number, plan, fourEyes } = planned;
  const [decided] = await readDecided(reader, { number, most: 0 });
  if (decided === undefined) throw new MusterdError('usage', `There is no decision ${number} about fields`);
  return {
    decided,
    back: plan.changes.map((one) => ({ ...rowOf(one), from: one.from, to: one.to })),
    undecided: plan.undecided.map((one) => ({ ...rowOf(one), from: one.from })),
    left: plan.left.map((one) => ({ ...rowOf(one), reason: one.reason })),
    isLetPass: !fourEyes && plan.approvable.length === plan.changes.length,
    sending: await readSending(reader),
    keys: undoKeys(plan),
    moved:
      refused === null
        ? null
        : { rows: movedOf(plan, refused.shown), shown: refused.shown.length, why: refused.why },
  };
}
