/** What a seed decides before anything happens: the settings, the service's variants, who is there, what goes wrong. */
import { type Variants, defaultVariants } from '../../src/emulator/faults/variants.ts';
import type { Random } from '../../src/emulator/random.ts';
import type { ConflictPolicy } from '../../src/reconcile/merge/merge-field.ts';
import type { Order } from './commands.ts';
import { type FaultName, faultNames } from './service.ts';

/** Besides the service's faults: what may happen to a process, and what people do. */
export const otherFaults = [
  'crash',
  'pause',
  'second replica',
  'clock',
  'aimed edit',
  'departures',
  'decisions',
  'login',
  'lost row',
  'daemon',
  'second team',
  'mass absence',
  'copy',
  'resolve',
  'hold',
  'undo',
  'import',
  'resync',
] as const;
/** Not in most seeds, because each of them leaves less room for the rest. */
const rareFaults: Readonly<Partial<Record<string, number>>> = {
  daemon: 4,
  'second team': 3,
  'mass absence': 4,
  copy: 3,
  resync: 4,
};
export type OtherFault = (typeof otherFaults)[number];
export const allFaults: readonly (FaultName | OtherFault)[] = [...faultNames, ...otherFaults];

export interface Plan {
  readonly users: number;
  readonly variants: Variants;
  readonly policy: Readonly<Record<'name' | 'email' | 'phone' | 'roleId', ConflictPolicy>>;
  readonly batchSize: number;
  readonly approve: 'guarded' | 'always';
  readonly fourEyes: boolean;
  readonly maxRows: number;
  readonly replicas: number;
  /** Whether the replicas are daemons. */
  readonly isDaemon: boolean;
  readonly teams: number;
  readonly confirmAfterMs: number;
  readonly leaseMs: number;
  readonly orders: readonly Order[];
  /** How long things go wrong, in ms. */
  readonly troubleMs: number;
  /** How often a request meets a fault. */
  readonly faultRate: number;
  readonly can: (fault: FaultName | OtherFault) => boolean;
}

export function drawPlan(random: Random, off: ReadonlySet<string>): Plan {
  const policy = () => random.pick<ConflictPolicy>(['hold', 'hold', 'hold', 'service-wins', 'mirror-wins']);
  const rare = <T>(usual: T, other: readonly T[]): T =>
    random.between(0, 4) === 0 ? random.pick(other) : usual;
  const variants: Variants = {
    ...defaultVariants(),
    'email-update': random.between(0, 3) === 0 ? 'clears-name' : 'keeps-name',
    'email-case': rare('kept', ['lowered']),
    'name-spaces': rare('kept', ['collapsed']),
    'phone-writes': rare('checked', ['digits', 'kept']),
    'refused-update': rare('atomic', ['prefix']),
    'unknown-user': rare('refuse', ['skip']),
    'updated-at': rare('moves', ['stuck']),
    'unfiltered-users': rare('all', ['none', 'refuse']),
    blank: rare('empty', ['null', 'absent']),
    phones: rare('digits', ['plus', 'mixed']),
    fraction: rare('3', ['0', '6', '9', 'mixed']),
    'member-extras': rare('none', ['email-phone']),
  };
  // Each fault is in most seeds, and few are in all: what only shows without another one shows, too.
  const present = new Set(
    allFaults.filter((fault) => random.between(0, 9) < (rareFaults[fault] ?? 7) && !off.has(fault)),
  );
  const orders = (['resolve', 'hold', 'undo', 'import', 'resync'] as const).filter((one) => present.has(one));
  return {
    users: random.between(5, 12),
    variants,
    policy: { name: policy(), email: policy(), phone: policy(), roleId: policy() },
    batchSize: random.pick([1, 2, 5, 25]),
    approve: random.between(0, 4) === 0 ? 'always' : 'guarded',
    fourEyes: random.between(0, 3) === 0,
    maxRows: random.pick([2, 4, 25, 25]),
    replicas: present.has('second replica') ? 2 : 1,
    isDaemon: present.has('daemon'),
    teams: present.has('second team') ? 2 : 1,
    confirmAfterMs: present.has('mass absence') ? 45_000 : 600_000,
    leaseMs: random.pick([5_000, 20_000]),
    orders: present.has('copy') ? [...orders, 'adopt'] : orders,
    // A daemon does more in a minute.
    troubleMs: random.between(3, 8) * (present.has('daemon') ? 30_000 : 60_000),
    faultRate: random.pick([0, 0.05, 0.15]),
    can: (fault) => present.has(fault),
  };
}
