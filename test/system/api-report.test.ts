import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/checkout.ts';

test('docs/client.md mentions every method and every option of the client', () => {
  const report = readFileSync(join(ROOT, 'docs', 'api', 'client.api.md'), 'utf8');
  const page = readFileSync(join(ROOT, 'docs', 'client.md'), 'utf8');
  const members = (name: string) => {
    const body = new RegExp(`^export interface ${name} .*?^}`, 'ms').exec(report)?.[0] ?? '';
    return [...body.matchAll(/^ {4}(?:readonly )?(\w+)[?(:]/gm)].map(([, member = '']) => member);
  };
  const methods = members('Client');
  const options = [
    'ClientOptions',
    'ConnectionSettings',
    'HttpSettings',
    'RetrySettings',
    'PaceSettings',
  ].flatMap(members);
  expect(methods.length).toBe(17);
  expect(options.length).toBeGreaterThan(15);
  const isSaid = (name: string) => new RegExp(`\\b${name}`).test(page);
  expect([...methods.map((name) => `${name}\\(`), ...options].filter((name) => !isSaid(name))).toEqual([]);
});
