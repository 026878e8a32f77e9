import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    reporters: process.env['CI'] ? ['dot', 'json'] : ['default', 'json'],
    outputFile: { json: 'coverage/report.json' },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Most tests wait for processes of their own: one worker would leave a machine of two cores idle.
    maxWorkers: 2,
  },
});
