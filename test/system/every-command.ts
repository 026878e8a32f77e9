import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { withoutJson } from '../../src/commands/help.ts';
import { createProgram } from '../../src/commands/program.ts';

/** Arguments with which a command gets as far as its settings; nothing but its name where left out. */
const argumentsOf: Readonly<Record<string, readonly string[]>> = {
  adopt: ['--reason', 'it has moved'],
  api: ['GET', '/v1/team'],
  approve: ['abcdef', '--reason', 'it is right'],
  completion: ['bash'],
  hold: ['41000001', '--until', '2h', '--reason', 'a visit'],
  import: [fileURLToPath(new URL('roster.csv', import.meta.url)), '--yes'],
  reject: ['abcdef'],
  resolve: ['41000001', 'phone', '--take', 'mirror', '--edit', '1', '--reason', 'it is right'],
  resync: ['--adopt-service'],
  'schedule cancel': ['9001'],
  sql: ['select 1'],
  'tag create': ['VIP', '--yes'],
  undo: ['1'],
  why: ['41000001'],
};

function leavesOf(command: Command, path: readonly string[] = []): readonly (readonly [string, Command])[] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((inner) => leavesOf(inner, [...path, inner.name()]));
}

const silent = { write: () => undefined };
const program = createProgram({ version: '0', out: silent, err: silent, wire: () => {} });

/** All that the program has. */
export const everyCommand = leavesOf(program).map(([name, command]) => ({
  name,
  hasJson: !withoutJson.has(name),
  takesMany: command.registeredArguments.some(({ variadic }) => variadic),
}));

export const wellUsed = (name: string): readonly string[] => [
  ...name.split(' '),
  ...(argumentsOf[name] ?? []),
];
