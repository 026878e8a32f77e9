/** An answer of users from its bytes to values: row 9. */
import { type Bench, type Group, inWords } from './bench.ts';
import { measureProcess, programHere } from './measure-process.ts';
import { measure, type RowResult } from './results.ts';
import { startService } from './service.ts';

async function measureDecode(bench: Bench): Promise<RowResult> {
  // Fewer take no longer than what is measured beside them.
  const users = Math.max(5_000, bench.size / 10);
  const service = await startService({
    emulator: { users, tags: 1, fields: 1, ratePerMinute: 0 },
    replay: true,
  });
  try {
    const { stdout } = await measureProcess(programHere('decode-process.ts'), [], service.environment);
    const { parse, decode } = JSON.parse(stdout) as { readonly parse: number[]; readonly decode: number[] };
    const what = 'parse and decode, CPU';
    return {
      row: 9,
      size: inWords(users, 'users'),
      measures: [measure({ what, unit: 'ms', product: decode, limit: parse, goal: 1.5 })],
    };
  } finally {
    await service.close();
  }
}

export const decode: Group = { rows: [9], measure: async (bench) => [await measureDecode(bench)] };
