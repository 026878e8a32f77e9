/**
 * Prints `N passed, N failed` from vitest's JSON report, as the last line of a test run.
 * A missing or empty report counts as one failure: a run that tested nothing has not passed.
 */
import { readFileSync } from 'node:fs';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
}

function read(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

const report = read(process.argv[2] ?? 'coverage/report.json');
const passed = report?.numPassedTests ?? 0;
const failedTests = report?.numFailedTests ?? 0;
const failed = failedTests > 0 ? failedTests : passed === 0 ? 1 : (report?.numFailedTestSuites ?? 0);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
