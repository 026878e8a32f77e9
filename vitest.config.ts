import { defineConfig } from 'vitest/config';
import { measureSlowness } from './test/support/slowness.ts';

// A bound is there to end a test that hangs, not to measure the machine.
const slowness = measureSlowness();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: process.env['CI'] ? ['dot', 'json'] : ['default', 'json'],
    outputFile: { json: 'coverage/report.json' },
    testTimeout: Math.round(60_000 * slowness),
    hookTimeout: Math.round(120_000 * slowness),
    // Most tests wait for processes of their own: one worker would leave a machine of two cores idle.
    maxWorkers: 2,
  },
});
