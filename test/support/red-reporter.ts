import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

/** What one line has room for. */
const longestReason = 160;

/** Says what is red at the very end of a run, a line each: the file, the test, the reason. Nothing where all is green. */
export function createRedReporter(
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Reporter {
  let root = process.cwd();
  let lines: readonly string[] = [];
  const reporter: Reporter = {
    onInit(vitest: Vitest) {
      root = vitest.config.root;
      // The other reporters have written all of theirs by then.
      vitest.onClose(() => {
        if (lines.length > 0) print(['', `Red (${lines.length}):`, ...lines, ''].join('\n'));
      });
    },
    onTestRunEnd(modules, unhandled) {
      lines = [...modules.flatMap((module) => redOf(module, root)), ...unhandled.map(outsideLine)];
    },
  };
  return reporter;
}

function redOf(module: TestModule, root: string): string[] {
  const file = relative(root, module.moduleId);
  const line = (names: readonly string[], errors: readonly SerializedError[]) =>
    `  ${[file, ...names].join(' › ')}: ${reasonOf(errors)}`;
  const ofSuites = [module, ...module.children.allSuites()].flatMap((suite: TestModule | TestSuite) => {
    const errors = suite.errors();
    return errors.length === 0 ? [] : [line(suite.type === 'module' ? [] : [suite.fullName], errors)];
  });
  const ofTests = [...module.children.allTests()].flatMap((test: TestCase) => {
    const result = test.result();
    return result.state === 'failed' ? [line([test.fullName], result.errors)] : [];
  });
  return [...ofSuites, ...ofTests];
}

const outsideLine = (error: unknown) => `  outside of any test: ${reasonOf([error as SerializedError])}`;

/** The first line of the first error; how many more there are. */
function reasonOf([error, ...more]: readonly SerializedError[]): string {
  const [first = ''] = `${error?.message ?? 'no reason given'}`.trim().split('\n');
  const cut = first.length > longestReason ? `${first.slice(0, longestReason)}…` : first;
  return more.length === 0 ? cut : `${cut} (and ${more.length} more)`;
}
