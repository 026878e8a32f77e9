import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/daemon/metrics.ts';
import { ROOT } from '../support/checkout.ts';
import { tableBelow } from './table-below.ts';

const text = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const blocks = (language: string) =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'))].map(
    ([, inner = '']) => inner,
  );
const inline = [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`]+)`/g)].map(
  ([, code = '']) => code,
);
const code = [...inline, ...blocks('sh').flatMap((block) => block.split('\n'))];
const unique = (all: readonly string[]) => [...new Set(all)].toSorted();

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.startsWith('emulator'))
  .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'))
  .join('\n');

const codesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, found = '']) => found);

describe('docs/operations.md', () => {
  it('names every variable of compose.yaml', () => {
    const compose = readFileSync(join(ROOT, 'config/compose.yaml'), 'utf8');
    const inCompose = unique([...compose.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name));
    expect(inCompose.filter((name) => !text.includes(name))).toEqual([]);
  });

  it('lists every alarm of prometheus-alerts.yaml in the same order, and no other alarm', () => {
    const alerts = parse(readFileSync(join(ROOT, 'config/prometheus-alerts.yaml'), 'utf8')) as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
    };
    const names = alerts.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    expect(tableBelow(text, 'Alarms').flatMap(([cell]) => codesIn(cell))).toEqual(names);
    for (const cells of tableBelow(text, 'Alarms')) expect(cells.filter(Boolean).length).toBe(3);
  });

  const messages = tableBelow(text, 'Log').flatMap(([cell]) => codesIn(cell));

  it.each(messages)('quotes the log message "%s" as the code writes it', (message) => {
    const missing = message.split('…').filter((part) => !sources.includes(part));
    expect(missing).toEqual([]);
  });

  it('quotes every warning and error that the code logs', () => {
    const said = [
      ...sources.matchAll(/\blog\??\.(?:warn|error)\(\s*(?:\{[^}]*\},\s*)?['`]([^'`]+)['`]/g),
    ].map(([, words = '']) => words.replaceAll(/\$\{[^}]*\}/g, '…'));
    expect(said.length).toBeGreaterThan(10);
    expect(unique(said).filter((words) => !messages.some((message) => words.includes(message)))).toEqual([]);
  });

  it('names only existing metrics', async () => {
    const { text: metrics } = await createMetrics({
      standings: { read: () => Promise.resolve({ standings: [], current: true }) },
    }).render();
    const named = unique(code.flatMap((one) => /^musterd_[a-z_]+(?=$|\{)/.exec(one) ?? []));
    const roles = [
      'musterd_reader',
      'musterd_editor',
      'musterd_role_editor',
      'musterd_approver',
      'musterd_daemon',
      'musterd_planner',
      'musterd_queue',
    ];
    const measured = named.filter((name) => !roles.includes(name));
    expect(measured.length).toBeGreaterThan(0);
    expect(measured.filter((name) => !metrics.includes(`# TYPE ${name} `))).toEqual([]);
  });
});
