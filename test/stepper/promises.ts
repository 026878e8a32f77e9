/** What must hold at each COMMIT besides the invariants of the simulation: what only sessions side by side can break. */
import { Violation } from '../simulation/invariants.ts';
import { canonicalOf, keyOf, type People } from '../simulation/people.ts';
import type { Plan } from '../simulation/plan.ts';
import type { Process } from '../simulation/world.ts';
import type { Gate } from './gate.ts';
import type { Staff } from './people.ts';

/** Each field of each open push, the edit that lasts now, and what holds it. */
const openFields = `
  select c.change_id, c.user_id, f.field, c.edits ->> f.field, c.sent_at is not null, l.edit_id::text, mirror.field_text(c.new -> f.field),
    case when h.field is not null then h.reason || coalesce(' and ' || h.decision, '') end
  from sync.changes c cross join lateral jsonb_object_keys(c.new) f (field)
  left join sync.edits l on l.team_id = c.team_id and l.user_id = c.user_id and l.field = f.field and l.ended_at is null
  left join sync.held_fields h on h.team_id = c.team_id and h.user_id = c.user_id and h.field = f.field
  where c.state = 'open' and coalesce(c.outcome ->> f.field, 'unknown') = 'unknown' order by 1, 3`;

/** @returns what has to be called after each COMMIT of a run, with the text of its transaction */
export function createPromises(gate: Gate, known: People, staff: Staff, plan: Plan) {
  const checked = new Map<string, number>();
  const opened = new Set<string>();
  const sent = new Set<string>();
  const owners = new Map<string, Process>();

  function require(promise: string, holds: boolean, what: () => string) {
    checked.set(promise, (checked.get(promise) ?? 0) + 1);
    if (!holds) throw new Violation(promise, what());
  }

  /** Who has taken the lease is the only one to commit under it. */
  function leaseOf(by: Process, text: string) {
    const [[lease] = []] = gate.ask('select lease_id from sync.leases');
    if (typeof lease === 'string' && !owners.has(lease)) owners.set(lease, by);
    if (text.includes('for key share'))
      require('a run commits under its lease', owners.get(lease ?? '') === by, () =>
        `${by.name} commits, and the lease is ${owners.get(lease ?? '')?.name ?? 'nobody'}'s`);
  }

  function pushes() {
    for (const [change, user, field, edit, hasLeft, lasting, value, hold] of gate.ask(openFields)) {
      const key = `${change} ${field}`;
      const what = () =>
        `${field} of ${user}, edit ${edit}: ${lasting ?? 'none'} lasts, held: ${hold ?? 'no'}`;
      const isNew = !opened.has(key);
      const leaves = hasLeft === 't' && !sent.has(key);
      opened.add(key);
      if (leaves) sent.add(key);
      if (isNew || leaves) require('an edit that is over is not sent', lasting === edit, what);
      if (isNew || leaves)
        require('nothing is sent that is held', hold === null || hold?.endsWith(' and spent') === true, what);
      if (!isNew || plan.approve !== 'always') continue;
      const approval = staff.approved.get(edit ?? '');
      require('nothing is approved that was not seen', approval?.value ===
        canonicalOf(field ?? '', value ?? ''), () =>
        `${what()}; it is sent as ${value}, and was approved as ${approval?.value ?? 'nothing'}`);
      const last = known.edits.get(keyOf(Number(user), field ?? ''))?.at(-1);
      if (plan.fourEyes) require('nobody approves their own edit', approval?.by !== last?.by, what);
    }
  }

  /** Nobody edits past the triggers here, so that whatever differs is on record; a name that the service has lost is nobody's edit. */
  function atEnd() {
    if (plan.variants['email-update'] === 'clears-name') return;
    const rows = gate.ask(
      `select user_id, field, edit_id, new_value from sync.edits where '' = any (authors)`,
    );
    require('every edit has an author', rows.length === 0, () => rows.map((row) => row.join(' ')).join('; '));
  }

  return {
    checked,
    atEnd,
    afterCommit: (by: Process, text: string) => {
      if (text.includes('sync.leases')) leaseOf(by, text);
      if (text.includes('sync.changes')) pushes();
    },
  };
}
