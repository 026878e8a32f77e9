import { verifyTeam } from '../../runs/look/verify-team.ts';
import type { Comparison } from '../../verify/compare.ts';
import type { OneSided, Value } from '../../verify/difference.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { showValue } from '../../model/field-values.ts';
import { paint, printJson, printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { plural, printable } from '../../model/in-words.ts';
import { toJson } from '../../model/json.ts';
import { inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { needsService, withMirror } from '../setup.ts';

/**
 * Compares service and mirror with code that no run uses. It takes no lease and writes nothing on either side. Its
 * requests share the rate limit with other processes. It does not compare contact counts, which change by themselves,
 * or `raw` columns.
 */
export async function verifyCommand(context: Context): Promise<ExitCode> {
  return withMirror(
    context,
    async ({ config, log, mirror }) => {
      const comparison = await verifyTeam(mirror.db, config, { log, signal: context.signal });
      if (context.json) printJson(context, inJson(comparison));
      else print(context, comparison);
      return comparison.equal ? exitCode.ok : exitCode.partial;
    },
    needsService,
  );
}

function inJson(comparison: Comparison): object {
  const { team, equal, compared, unresolved, differences, oneSided, duplicates, unread, isRunning } =
    comparison;
  return {
    team: { id: team.id, name: team.name },
    equal,
    complete: unread.length === 0,
    unread,
    run_under_way: isRunning,
    compared,
    unresolved,
    differences,
    only_on_one_side: oneSided,
    duplicates,
  };
}

function shown(value: Value): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' && value !== null ? toJson(value) : showValue(value);
}

const sideInWords = ({ side }: OneSided) =>
  side === 'mirror' ? 'only in the mirror' : 'only on the service';

function print(context: Context, comparison: Comparison): void {
  const { team, equal, compared, unresolved, differences, oneSided, duplicates, unread, isRunning } =
    comparison;
  const line = (text: string) => printLine(context.out, printable(text));
  const listed = listedResources.map((resource) =>
    plural(compared[resource.name] ?? 0, resource.noun, inPlural(resource)),
  );
  line(
    `Team ${team.id}${team.name === null ? '' : ` "${team.name}"`}: compared ${[plural(compared['users'] ?? 0, 'user'), ...listed].join(', ')}`,
  );
  const rows = [
    ...differences.map(({ resource, id, name, field, mirror, service, judgement, because }) => [
      judgement,
      resource,
      id,
      name,
      field,
      shown(mirror),
      shown(service),
      because,
    ]),
    ...oneSided.map((row) => [
      row.judgement,
      row.resource,
      row.id,
      row.name,
      sideInWords(row),
      '',
      '',
      row.because,
    ]),
  ];
  if (rows.length > 0)
    printTable(context, ['', 'what', 'id', 'name', 'field', 'mirror', 'service', 'because'], rows);
  for (const { resource, field, value, ids, side } of duplicates)
    line(`note: ${resource}: ${field} ${value} more than once on the ${side} side: ${ids.join(', ')}`);
  if (unresolved > 0) line(`note: ${plural(unresolved, 'member')} not compared: no lookup answers for them`);
  if (isRunning) line('note: a run is under way; what it moves right now may show as a difference');
  for (const reason of unread) line(`not complete: ${reason}`);
  const drift = [...differences, ...oneSided].filter(({ judgement }) => judgement === 'drift').length;
  const expected = differences.length + oneSided.length - drift;
  const verdict = equal ? 'equal' : drift > 0 ? 'drift' : 'not complete';
  const tally = `${plural(drift, 'difference')} that nothing explains, ${expected} expected`;
  printLine(context.out, `${paint(context, equal ? 'green' : 'red', verdict)}: ${tally}`);
}
