/**
 * The seed of all random tests: the same in each run, so that a commit is either green or red. TEST_SEED=<number> draws
 * other values; a test that fails names its seed.
 */
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['TEST_SEED'] ?? 20_261_123) });
