/** The page docs/mutation.md: which changes of the code no test notices, and why that is right. */

export const page = 'docs/mutation.md';

interface Mutant {
  readonly status: string;
  readonly location: { readonly start: Place; readonly end: Place };
  readonly static?: boolean;
}
interface Place {
  readonly line: number;
  readonly column: number;
}

/** A file of Stryker's report. */
export interface MutatedFile {
  readonly source: string;
  readonly mutants: readonly Mutant[];
}

/** Changes of one piece of code that nothing notices. */
interface Survivor {
  readonly file: string;
  /** As it stands in the file, up to the end of its line. */
  readonly code: string;
  readonly changes: number;
  readonly why: string;
}
interface Counted {
  readonly file: string;
  readonly reached: number;
  readonly noticed: number;
}
interface Page {
  readonly counted: readonly Counted[];
  readonly survivors: readonly Survivor[];
}

const longestCode = 90;

export const isSurvivor = ({ status }: Mutant): boolean => status === 'Survived';
const isNoticed = ({ status }: Mutant) => status === 'Killed' || status === 'Timeout';

const inCell = (text: string) => text.replaceAll('|', '\\|');
const fromCell = (cell: string) => cell.replaceAll('\\|', '|');
/** Code in a table may contain backticks itself. */
const asCode = (code: string) => (code.includes('`') ? `\`\` ${inCell(code)} \`\`` : `\`${inCell(code)}\``);
const fromCode = (cell: string) => fromCell(cell.startsWith('`` ') ? cell.slice(3, -3) : cell.slice(1, -1));

const isNumber = (cell: string | undefined) => /^\d+$/.test(cell ?? '');
const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

export function parsePage(text: string): Page {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map(cellsOf);
  return {
    counted: rows
      .filter(([file = '', reached]) => file.endsWith('.ts`') && isNumber(reached))
      .map(([file = '', reached, noticed]) => ({
        file: fromCode(file),
        reached: Number(reached),
        noticed: Number(noticed),
      })),
    survivors: rows
      .filter(([, second]) => !isNumber(second))
      .map(([file = '', code = '', changes, why = '']) => ({
        file: fromCode(file),
        code: fromCode(code),
        changes: Number(changes),
        why: fromCell(why),
      })),
  };
}

function codeOf(source: string, { start, end }: Mutant['location']): string {
  const line = source.split('\n')[start.line - 1] ?? '';
  return line
    .slice(start.column - 1, start.line === end.line ? end.column - 1 : undefined)
    .slice(0, longestCode);
}

function survivorsOf(
  file: string,
  { source, mutants }: MutatedFile,
  known: readonly Survivor[],
): readonly Survivor[] {
  const byCode = new Map<string, number>();
  for (const mutant of mutants.filter(isSurvivor)) {
    const code = codeOf(source, mutant.location);
    byCode.set(code, (byCode.get(code) ?? 0) + 1);
  }
  return [...byCode].map(([code, changes]) => {
    const why = known.find((one) => one.file === file && one.code === code)?.why ?? '';
    return { file, code, changes, why };
  });
}

const countOf = (file: string, { mutants }: MutatedFile): Counted => {
  const reached = mutants.filter((one) => isSurvivor(one) || isNoticed(one));
  return { file, reached: reached.length, noticed: reached.filter(isNoticed).length };
};

const percent = ({ reached, noticed }: Omit<Counted, 'file'>) =>
  `${((100 * noticed) / reached).toFixed(1)} %`;
const byFile = (one: { readonly file: string }, other: { readonly file: string }) =>
  one.file < other.file ? -1 : Number(one.file > other.file);

/** @param files those of the last report, by path */
export function pageOf(known: Page, files: Readonly<Record<string, MutatedFile>>): string {
  const now = Object.entries(files).map(([path, file]) => [path.replace(/^src\//, ''), file] as const);
  const played = new Set(now.map(([file]) => file));
  const isOther = ({ file }: { readonly file: string }) => !played.has(file);
  const counted = [
    ...known.counted.filter(isOther),
    ...now.map(([name, file]) => countOf(name, file)).filter(({ reached }) => reached > 0),
  ].toSorted(byFile);
  const survivors = [
    ...known.survivors.filter(isOther),
    ...now.flatMap(([name, file]) => survivorsOf(name, file, known.survivors)),
  ].toSorted(byFile);
  const roomOf = (file: string) => file.split('/').slice(0, -1).join('/');
  const sums = [...Map.groupBy(counted, ({ file }) => roomOf(file))].map(([room, all]) => ({
    file: room,
    reached: all.reduce((sum, one) => sum + one.reached, 0),
    noticed: all.reduce((sum, one) => sum + one.noticed, 0),
  }));
  return [
    head,
    '| File or folder in `src` | Changes that a test reached | Changes for which a test failed | Share |',
    '|---|---|---|---|',
    ...[...sums.filter(({ file }) => file !== ''), ...counted].map(
      (one) => `| \`${one.file}\` | ${one.reached} | ${one.noticed} | ${percent(one)} |`,
    ),
    '',
    '| File in `src` | Changed code | Number of changes | Why no test fails |',
    '|---|---|---|---|',
    ...survivors.map(
      ({ file, code, changes, why }) => `| \`${file}\` | ${asCode(code)} | ${changes} | ${inCell(why)} |`,
    ),
    '',
  ].join('\n');
}

const head = `# Changes that no test notices

\`npm run mutate\` changes the code that decides, in one place after another, and runs the tests that reach the changed place ([reliability.md](reliability.md)).
This page lists the changes for which no test failed when \`npm run mutate\` last ran for the file. \`node test/mutation/write-survivors.ts\` writes the
figures and the rows, and a person writes the reasons. Code that no test reaches, and tables that code creates on import, do not count.
`;
