/** Does the same work for one team after the other, for example in `musterd reconcile` with several teams. */
import type { Config } from '../../config/config.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { errorInJson, printJson, printLine } from '../output.ts';

/** The exit codes, the most serious first: failed work comes before finished work that waits for a person. */
const severity: readonly ExitCode[] = [
  exitCode.configuration,
  exitCode.credentials,
  exitCode.usage,
  exitCode.partial,
  exitCode.unknown,
  exitCode.busy,
  exitCode.refused,
  exitCode.waiting,
  exitCode.changes,
  exitCode.ok,
];

export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  return severity.find((code) => codes.includes(code)) ?? exitCode.ok;
}

export interface WorkOnTeam<R> {
  readonly work: (config: Config) => Promise<R>;
  readonly print: (result: R) => void;
  readonly inJson: (result: R) => object;
  readonly codeOf: (result: R) => ExitCode;
}

/** Continues with the next team after an error, but not after a request to stop. @returns the most serious exit code */
export async function eachTeam<R>(
  context: Context,
  teams: readonly Config[],
  { work, print, inJson, codeOf }: WorkOnTeam<R>,
): Promise<ExitCode> {
  const ends: { readonly code: ExitCode; readonly json: object }[] = [];
  for (const config of teams) {
    const { team: name } = config;
    if (context.signal.aborted) {
      const error = errorInJson(context.signal.reason);
      ends.push({ code: exitCode.partial, json: { name, exit_code: exitCode.partial, error } });
      if (!context.json) printLine(context.out, `${name}: not started`);
      continue;
    }
    try {
      const result = await work(config);
      const code = codeOf(result);
      ends.push({ code, json: { name, exit_code: code, ...inJson(result) } });
      if (context.json) continue;
      printLine(context.out, `${name}:`);
      print(result);
    } catch (error) {
      const { code, told } = context.explain(name, error);
      ends.push({ code, json: { name, exit_code: code, error: errorInJson(told) } });
    }
  }
  if (context.json)
    printJson(
      context,
      ends.map(({ json }) => json),
    );
  return worstExitCode(ends.map(({ code }) => code));
}
