/** One user's life at random: what editors, the service, runs and people who decide can make of the three versions. */

import { createRandom } from '../../src/emulator/random.ts';
import { type Field, fields } from '../../src/model/fields.ts';
import { joinName } from '../../src/model/name.ts';
import { type MirrorRow, type ServiceUser, sameBytes, serviceValue } from '../../src/model/user.ts';
import type { Decision, Hold, UserPlan } from '../../src/model/user-plan.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { ConflictPolicy, Policy } from '../../src/reconcile/merge/merge-field.ts';
import { isStopped } from '../../src/reconcile/merge/held-field.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { applyPlan, takePatch } from './apply-plan.ts';

export interface Walk {
  /** What a run would read now. */
  readonly state: UserState;
  readonly policy: Policy;
  /** A new user. */
  begin(): void;
  /** Something happens. */
  step(): void;
}

const pools = {
  first: ['Anne', 'Anne Marie', ' Anne', 'Cher', 'José', 'Jose\u0301', 'Anna Marie'],
  last: ['Berg', 'Marie Berg', 'Berg ', '', 'Bono'],
  name: ['Anne Berg', 'Anne  Berg', 'Anne Marie Berg', 'Cher', 'José Bono', 'Jose\u0301 Bono', ''],
  email: ['a@example.com', 'A@example.com', 'b@example.com'],
  phone: ['15550100', '15550101', '+15550100'],
  roleId: [1n, 2n, 2n ** 53n + 1n],
} as const;

export function createWalk(seed: number): Walk {
  const random = createRandom(seed);
  const choices: readonly ConflictPolicy[] = ['hold', 'hold', 'service-wins', 'mirror-wins'];
  const one = (times: number) => random.between(1, times) === 1;
  let state: UserState;
  let policy: Policy;
  /** What the service has, whatever an answer shows of it. */
  let truth: ServiceUser;
  let edits = 0n;
  let transactions = 0;
  let hasLeft = false;

  const someService = (field: Field): ServiceUser[Field] =>
    field === 'name'
      ? random.pick(pools.name)
      : one(9)
        ? random.pick([null, field === 'roleId' ? null : ''])
        : random.pick<string | bigint>(pools[field]);

  function begin() {
    truth = {
      id: 7n,
      name: random.pick(pools.name),
      email: random.pick(pools.email),
      phone: random.pick(pools.phone),
      roleId: random.pick(pools.roleId),
      raw: {},
    };
    policy = {
      name: random.pick(choices),
      email: random.pick(choices),
      phone: random.pick(choices),
      roleId: random.pick(choices),
    };
    hasLeft = false;
    state = {
      id: 7n,
      service: truth,
      base: undefined,
      mirror: undefined,
      held: [],
      edits: {},
      hasOpenIntent: false,
      missingForMs: undefined,
      observedDiffers: false,
    };
    run();
  }

  /** An answer shows what the service has; now and then it leaves a field out, or shows something odd. */
  function show() {
    if (hasLeft) {
      const { service: _, ...rest } = state;
      state = { ...rest, service: undefined };
      return;
    }
    const shown: Record<string, unknown> = { ...truth };
    if (one(12)) delete shown[random.pick(fields)];
    if (one(25)) shown[random.pick(fields)] = { unreadable: '[1]' };
    state = { ...state, service: shown as unknown as ServiceUser, stale: one(40) };
  }

  function setMirror(field: Field, mirror: MirrorRow, isRecorded = true) {
    const { base } = state;
    const { [field]: _, ...others } = state.edits;
    state = { ...state, mirror };
    edits += 1n;
    const isEdit = base === undefined || !sameBytes(field, mirror, base);
    if (one(2)) transactions += 1;
    const edit = { id: edits, transaction: String(transactions) };
    state = { ...state, edits: isEdit && isRecorded ? { ...others, [field]: edit } : others };
  }

  function edit() {
    const { mirror, base } = state;
    if (mirror === undefined || base === undefined) return;
    const field = random.pick(fields);
    const isRecorded = !one(30);
    if (one(5)) return setMirror(field, { ...mirror, [field]: base[field] }, isRecorded);
    if (field !== 'name') {
      const isEmptied = field === 'phone' ? one(4) : base[field] === null && one(3);
      return setMirror(
        field,
        { ...mirror, [field]: isEmptied ? null : random.pick<string | bigint>(pools[field]) },
        isRecorded,
      );
    }
    const halves = { first: random.pick(pools.first), last: random.pick(pools.last) };
    const how = random.between(0, 3);
    const name =
      how === 0
        ? { ...mirror.name, first: halves.first }
        : how === 1
          ? { ...mirror.name, last: halves.last }
          : halves;
    if (joinName(name) === '') return;
    setMirror('name', { ...mirror, name, split: how === 3 ? 'known' : mirror.split }, isRecorded);
  }

  /** Somebody changes the user on the service, or logs in. */
  function change() {
    const field = random.pick(fields);
    const { mirror } = state;
    const isSame = mirror !== undefined && one(4);
    const same = () =>
      field === 'name' ? joinName((mirror as MirrorRow).name) : (mirror as MirrorRow)[field];
    if (!one(5)) truth = { ...truth, [field]: isSame ? same() : someService(field) };
  }

  const holdOf = (field: Field, reason: Hold['reason'], plan: UserPlan, more: Partial<Hold> = {}): Hold => {
    const base = plan.write?.base ?? state.base;
    const service = state.service === undefined ? undefined : serviceValue(state.service, field);
    return {
      field,
      reason,
      detail: '',
      base: base?.[field],
      mirror: state.mirror?.[field],
      service,
      ...more,
    };
  };

  /** What becomes of what a run would send. */
  function send(plan: UserPlan): UserPlan {
    const outcome = random.between(0, 9);
    const decided = Object.entries(plan.fields).map(([of, decision]): readonly [string, Decision] => {
      const field = of as Field;
      if (decision.kind !== 'push' || outcome <= 3) return [of, decision];
      const hold = [
        holdOf(field, 'limit', plan),
        holdOf(field, 'review', plan),
        holdOf(field, 'limit', plan, { isAlone: true }),
        holdOf(field, 'refused', plan),
        holdOf(field, 'ineffective', plan),
        holdOf(field, 'unsupported', plan),
      ][outcome - 4] as Hold;
      return [of, { kind: 'hold', hold }];
    });
    const sent = Object.entries(plan.fields)
      .filter(([, { kind }]) => kind === 'push')
      .map(([of]) => of as Field);
    if (outcome <= 3 && sent.length > 0) sending = { sent, how: outcome };
    return { ...plan, fields: Object.fromEntries(decided) as unknown as UserPlan['fields'] };
  }
  let sending: { readonly sent: readonly Field[]; readonly how: number } | undefined;

  /** A run reads both sides, and does what it decides. */
  function run() {
    if (state.service === undefined) {
      if (state.mirror !== undefined && one(2)) state = { ...state, mirror: { ...state.mirror, gone: true } };
      return;
    }
    sending = undefined;
    const plan = send(planUser(state, undefined, policy));
    const before = state;
    const after = applyPlan(state, plan);
    const said = (field: Field) => serviceValue(before.service as ServiceUser, field);
    const held = after.held.map((hold): Hold => {
      const decision = plan.fields[hold.field];
      if (decision.kind === 'held') return { ...hold, shown: decision.shown ?? null };
      if (decision.kind !== 'hold') return hold;
      const of = after.edits[hold.field]?.id;
      return {
        ...hold,
        ...(of === undefined ? {} : { edit: of }),
        shown: said(hold.field) ?? null,
      };
    });
    state = { ...after, held };
    dropEdits();
    arrive();
  }

  /** An edit ends when mirror and base agree. */
  function dropEdits() {
    const { mirror, base } = state;
    if (mirror === undefined || base === undefined) return;
    const lasting = Object.entries(state.edits).filter(([of]) => !sameBytes(of as Field, mirror, base));
    state = { ...state, edits: Object.fromEntries(lasting) };
  }

  /** What was sent arrives and is confirmed, arrives unseen, or is under way. */
  function arrive() {
    const { mirror, base } = state;
    if (sending === undefined || mirror === undefined || base === undefined) return;
    const { sent, how } = sending;
    const patch = Object.fromEntries(sent.map((field) => [field, mirror[field]]));
    if (how !== 3) truth = takePatch(truth, patch);
    if (how >= 2) {
      state = { ...state, hasOpenIntent: true };
      return;
    }
    const taken = Object.fromEntries(sent.map((field) => [field, mirror[field]]));
    const joined = sent.includes('name') ? joinName(mirror.name) : base.joined;
    const held = state.held.filter(({ field }) => !sent.includes(field));
    state = {
      ...state,
      base: { ...base, ...taken, joined },
      held,
      mirror: { ...mirror, split: sent.includes('name') ? 'known' : mirror.split },
    };
    dropEdits();
  }

  /** A person says yes, no, or not now; or that is taken back. */
  function decide() {
    if (one(5)) {
      const field = random.pick(fields);
      const asked: Hold = { ...holdOf(field, 'asked', { write: null } as UserPlan), endsInMs: 1_000 };
      state = { ...state, held: [...state.held.filter((hold) => hold.field !== field), asked] };
      return;
    }
    const held = state.held.map((hold): Hold => {
      if (hold.reason === 'asked') return { ...hold, endsInMs: random.pick([0, 1_000]) };
      if (one(2)) return hold;
      const { decision: _, ...rest } = hold;
      const how = random.between(0, 3);
      if (how === 0) return rest;
      if (how === 1) return { ...rest, decision: 'resolved' };
      if (how === 2) return isStopped(hold) ? { ...rest, decision: 'approved' } : hold;
      return { ...rest, reason: 'rejected' };
    });
    state = { ...state, held };
  }

  function step() {
    const what = random.fraction();
    if (what < 0.3) edit();
    else if (what < 0.5) change();
    else if (what < 0.65) run();
    else if (what < 0.75) decide();
    else if (what < 0.78) hasLeft = !hasLeft;
    else if (what < 0.79) state = { ...state, mirror: undefined };
    else if (what < 0.84) state = { ...state, hasOpenIntent: false };
    show();
  }

  begin();
  return {
    get state() {
      return state;
    },
    get policy() {
      return policy;
    },
    begin,
    step,
  };
}
