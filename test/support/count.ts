/**
 * Prints `N passed, N failed` from vitest's JSON reports, as the last line of test runs.
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

function count(report: Report | undefined): { readonly passed: number; readonly failed: number } {
  const passed = report?.numPassedTests ?? 0;
  const failedTests = report?.numFailedTests ?? 0;
  return {
    passed,
    failed: failedTests > 0 ? failedTests : passed === 0 ? 1 : (report?.numFailedTestSuites ?? 0),
  };
}

const counts = process.argv.slice(2).map((path) => count(read(path)));
const sum = (of: 'passed' | 'failed') => counts.reduce((total, one) => total + one[of], 0);
const failed = sum('failed');
process.stdout.write(`${sum('passed')} passed, ${failed} failed\n`);
process.exitCode = counts.length > 0 && failed === 0 ? 0 : 1;
