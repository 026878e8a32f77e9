/**
 * Ms after which a test has hung. No test comes near it, on a machine ten times as slow either: whatever a test waits
 * for is an event, and this only ends the wait for one that never comes.
 */
export const hungAfterMs = 300_000;
/** The same of a test that does by itself what would fill a minute: packs, installs, benchmarks. */
export const longHungAfterMs = 3 * hungAfterMs;

/** For connections of tests: what takes long on a slow machine does not fail there. */
export const patient = {
  connectTimeoutMs: hungAfterMs,
  freeTimeoutMs: hungAfterMs,
  statementTimeoutMs: hungAfterMs,
  lockTimeoutMs: hungAfterMs,
  idleTimeoutMs: hungAfterMs,
  queryTimeoutMs: hungAfterMs,
} as const;
