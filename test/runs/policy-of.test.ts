import { expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { policyOf, reconcileSettings } from '../../src/runs/sync/reconcile-team.ts';

it.each([
  ['always', false, true],
  ['always', true, true],
  ['guarded', true, true],
  ['guarded', false, false],
] as const)(
  'policyOf sets approvesSplits if approve is always or fourEyes is on: %s, %s: %s',
  (approve, fourEyes, approvesSplits) => {
    const config = configSchema.parse({ push: { approve, fourEyes }, policy: { email: 'service-wins' } });
    const policy = { name: 'hold', email: 'service-wins', phone: 'hold', roleId: 'hold', approvesSplits };
    expect(policyOf(config)).toEqual(policy);
    expect(reconcileSettings(config).policy).toEqual(policy);
  },
);

it('reconcileSettings returns the limits of the guard and the administrator roles of the configuration', () => {
  const guard = { maxRows: 7, maxShare: 0.5, maxRoleChanges: 2 };
  const settings = reconcileSettings(configSchema.parse({ guard, roles: { admin: [9] } }));
  expect(settings.guard).toEqual({ ...guard, adminRoleIds: [9n], isReviewed: false });
});
