/**
 * The entry of `musterd/emulator`: plays the service of interface.md on this machine, for tests of its clients.
 * docs/emulator.md describes what it plays.
 */
import { createEmulator, type Emulator } from './create-emulator.ts';
import type { EmulatorOptions } from './options.ts';

/** An emulator that `await using` closes at the end of its scope. */
export type StartedEmulator = Emulator & AsyncDisposable;

/**
 * Starts an emulator, over plain HTTP on a free port of loopback unless the options say otherwise. Resolves once it
 * accepts connections; throws an Error if the options contradict each other or the port is taken.
 *
 * @example
 * await using service = await startEmulator({ users: 50 });
 * const authorization = `Bearer ${service.team.token()}`;
 * const answer = await fetch(`${service.url}/v1/team`, { headers: { authorization } });
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<StartedEmulator> {
  const emulator = await createEmulator({ http: true, ...options });
  return { ...emulator, [Symbol.asyncDispose]: () => emulator.close() };
}

export { faultTable, parseFaults } from './faults/faults.ts';
export { parseVariants, variantTable } from './faults/variants.ts';
export type { Emulator, EmulatorOptions };
export type { EmulatorClock } from './rules/emulator-clock.ts';
export type {
  Fault,
  FaultDescription,
  FaultKind,
  FaultOf,
  FaultParametersOf,
  FaultTable,
} from './faults/faults.ts';
export type { Hook, Hooks, Rewrite } from './faults/hooks.ts';
export type { Match } from './faults/match.ts';
export type { TeamOptions, TeamSecret } from './options.ts';
export type {
  DeliveryRecord,
  FieldRecord,
  InboxRecord,
  ScheduleRecord,
  SurveyRecord,
  TagRecord,
  UserRecord,
} from './rules/played-team.ts';
export type { LoggedRequest } from './wire/request-log.ts';
export type { Moment } from './wire/show-timestamp.ts';
export type { UserChange } from './rules/update-user.ts';
export type { Snapshot } from './control/snapshot.ts';
export type { NewUser, TeamControl } from './control/team-control.ts';
export type {
  VariantChoice,
  VariantChoiceOrNumber,
  VariantName,
  Variants,
  VariantTable,
  VariantValueOf,
} from './faults/variants.ts';
