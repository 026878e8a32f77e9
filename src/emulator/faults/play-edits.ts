import { setTimeout as delay } from 'node:timers/promises';
import type { EmulatorClock } from '../rules/emulator-clock.ts';
import { type Fault, type FaultOf, parameter } from './faults.ts';
import type { PlayedTeam } from '../rules/played-team.ts';
import { createTeamControl, type TeamControl } from '../control/team-control.ts';
import type { UserChange } from '../rules/update-user.ts';

/** Plays the faults that act before a request is handled: delay, clock, edits in the web app, drift. */
export async function playBefore(
  faults: readonly Fault[],
  team: PlayedTeam | undefined,
  path: string,
  clock: EmulatorClock,
): Promise<void> {
  for (const fault of faults) {
    if (fault.kind === 'delay') await delay(parameter(fault, 'ms'));
    if (fault.kind === 'clock-skew') clock.advance(parameter(fault, 'seconds') * 1000 - clock.skewMs());
    if (team === undefined) continue;
    if (fault.kind === 'edit' && parameter(fault, 'when') === 'before') edit(fault, team, clock);
    if (fault.kind === 'drift') drift(parameter(fault, 'action'), createTeamControl(team, clock, {}), path);
  }
}

/** Plays the faults that act after a request has had its effect. */
export function playAfter(faults: readonly Fault[], team: PlayedTeam, clock: EmulatorClock): void {
  for (const fault of faults) {
    if (fault.kind === 'edit' && parameter(fault, 'when') === 'after') edit(fault, team, clock);
  }
}

function edit(fault: FaultOf<'edit'>, team: PlayedTeam, clock: EmulatorClock): void {
  const control = createTeamControl(team, clock, {});
  const meant = parameter(fault, 'user');
  const user = team.users.get(meant) ?? control.users()[meant - 1];
  if (user === undefined) return;
  const field = parameter(fault, 'field');
  const value = parameter(fault, 'value');
  const blank = value === '' ? null : value;
  const edits: Readonly<Record<string, UserChange>> = {
    first: { first: value },
    last: { last: value },
    email: { email: blank },
    phone: { phone: blank },
    role_id: { roleId: Number(value) },
  };
  control.editUser(user.id, edits[field] ?? {});
}

/** Adds, removes or touches one row of the listing at `path`, so that other rows of the listing move by one place. */
function drift(action: string, team: TeamControl, path: string): void {
  const tags = path === '/v1/tags';
  if (!tags && path !== '/v1/contact-fields') return;
  const rows = (tags ? team.tags() : team.fields()).map((row) => row.id);
  if (action === 'add') {
    if (tags) team.addTag(`Drifted ${rows.length}`);
    else team.addField(`Drifted ${rows.length}`);
    return;
  }
  const id = tags ? endTag(team, action === 'remove') : rows.at(action === 'remove' ? -1 : 0);
  if (id === undefined) return;
  if (action === 'remove') {
    if (tags) team.removeTag(id);
    else team.removeField(id);
  } else if (tags) team.editTag(id, {});
  else team.editField(id, `Touched ${id}`);
}

function endTag(team: TeamControl, newest: boolean): number | undefined {
  const tags = team.tags().toSorted((a, b) => a.updated.ms - b.updated.ms || a.id - b.id);
  return tags.at(newest ? -1 : 0)?.id;
}
