import { expect, it } from 'vitest';
import { sayGuard } from '../../src/commands/files/show-import.ts';
import { configSchema } from '../../src/config/config.ts';

const held = 'the guard will hold it: 30 users';

it.each([
  { push: {}, refused: [], why: undefined, says: [] },
  {
    push: {},
    refused: ['30 users'],
    why: undefined,
    says: [`${held}; the owner's login can approve it with --reason`],
  },
  { push: {}, refused: ['30 users'], why: 'moved', says: ['approved beyond the limit: 30 users'] },
  {
    push: { fourEyes: true },
    refused: ['30 users'],
    why: 'moved',
    says: [`${held}; another person must approve it (push.fourEyes)`],
  },
  { push: { fourEyes: true }, refused: [], why: undefined, says: [] },
  { push: { approve: 'always' }, refused: [], why: undefined, says: [] },
  {
    push: { approve: 'always', fourEyes: true },
    refused: [],
    why: 'moved',
    says: ['it waits until another person approves it (push.approve, push.fourEyes)'],
  },
  {
    push: { approve: 'always', fourEyes: true },
    refused: ['30 users'],
    why: undefined,
    says: [`${held}; another person must approve it (push.fourEyes)`],
  },
] as const)('sayGuard returns the approvals that an import needs ($push, $refused, $why)', (row) => {
  const config = configSchema.parse({ push: row.push });
  const preview = { refused: row.refused, limited: ['the last administrator'] };
  expect(sayGuard(preview, config, { why: row.why })).toEqual([
    ...row.says.slice(0, row.refused.length),
    'will be held on its own: the last administrator',
    ...row.says.slice(row.refused.length),
  ]);
});
