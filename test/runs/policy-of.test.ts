import { expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { policyOf, reconcileSettings } from '../../src/runs/reconcile-team.ts';

it.each([
  ['always', false, true],
  ['always', true, true],
  ['guarded', true, true],
  ['guarded', false, false],
] as const)(
  'halves of a name need an approval where others approve what is sent: approve %s, four eyes %s: %s',
  (approve, fourEyes, approvesSplits) => {
    const config = configSchema.parse({ push: { approve, fourEyes }, policy: { email: 'service-wins' } });
    const policy = { name: 'hold', email: 'service-wins', phone: 'hold', roleId: 'hold', approvesSplits };
    expect(policyOf(config)).toEqual(policy);
    expect(reconcileSettings(config).policy).toEqual(policy);
  },
);

it('what may be written, and how much of it, is for a run to know; the limits on users stand apart', () => {
  const write = {
    tags: true,
    schedule: 'unattended',
    conversations: false,
    timezone: 'Europe/Berlin',
  } as const;
  const limits = { maxNewTags: 1, maxMessages: 2, maxRecipients: 3 };
  const settings = reconcileSettings(configSchema.parse({ write, guard: { maxRows: 7, ...limits } }));
  expect(settings.write).toEqual({ ...write, ...limits });
  expect(settings.guard).toMatchObject({ maxRows: 7 });
  expect(Object.keys(settings.guard)).not.toContain('maxNewTags');
});
