/** What "promtool check metrics" asks of a scrape, without promtool. */
import { parseScrape } from './promql.ts';

/** Units in which Prometheus does not measure, in a name: seconds and bytes are the base. */
const otherUnits =
  /_(?:milliseconds?|microseconds?|nanoseconds?|minutes?|hours?|days?|weeks?|kilobytes?|megabytes?|gigabytes?|bits?|percents?|ms|us|ns|sec|s|m|h|d|b|kb|mb|gb)(?:_|$)/;

function complaintsOf(
  name: string,
  type: string,
  help: string,
  labels: ReadonlySet<string>,
): readonly string[] {
  const isHistogram = type === 'histogram';
  const rules: readonly (readonly [complaint: string, isBroken: boolean])[] = [
    ['has no help', help.trim() === ''],
    ['is a counter without "_total"', type === 'counter' && !name.endsWith('_total')],
    ['ends in "_total" and is no counter', type !== 'counter' && name.endsWith('_total')],
    ['ends as a part of a histogram does', !isHistogram && /_(?:bucket|count|sum)$/.test(name)],
    ['has a label of histograms', !isHistogram && (labels.has('le') || labels.has('quantile'))],
    ['names its type', new RegExp(`(?:^|_)${type}(?:_|$)`).test(name)],
    ['is not of small letters and underscores', !/^[a-z][a-z0-9_]*$/.test(name)],
    ['has a label in camel case', [...labels].some((label) => /[A-Z]/.test(label))],
    ['measures in another unit than the base', otherUnits.test(name)],
  ];
  return rules.flatMap(([complaint, isBroken]) => (isBroken ? [`${name} ${complaint}`] : []));
}

/** @returns the complaints, one a line; empty for a scrape that is as it should be */
export function lintMetrics(text: string): readonly string[] {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]),
  );
  const wholeOf = (name: string) => {
    const whole = name.replace(/_(?:bucket|sum|count)$/, '');
    return types.get(whole) === 'histogram' ? whole : name;
  };
  const labels = new Map<string, Set<string>>();
  for (const sample of parseScrape(text)) {
    const name = wholeOf(sample.name);
    labels.set(name, new Set([...(labels.get(name) ?? []), ...Object.keys(sample.labels)]));
  }
  const untyped = [...labels.keys()].filter((name) => !types.has(name)).map((name) => `${name} has no type`);
  return [
    ...untyped,
    ...[...types].flatMap(([name, type]) =>
      complaintsOf(name, type, helps.get(name) ?? '', labels.get(name) ?? new Set()),
    ),
  ];
}
