/**
 * `node test/mutation/write-survivors.ts [coverage/mutation.json]` writes what the last `npm run mutate` has left into
 * docs/mutation.md: how many changes of each file a test noticed, and each that none did. What the page says of a change
 * stays, and so does all that it says of files that were not changed. Ends with 1 if one has no explanation.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type MutatedFile, page, pageOf, parsePage } from './survivors.ts';

const [report = 'coverage/mutation.json'] = process.argv.slice(2);
const { files } = JSON.parse(readFileSync(report, 'utf8')) as {
  readonly files: Readonly<Record<string, MutatedFile>>;
};
const known = parsePage(existsSync(page) ? readFileSync(page, 'utf8') : '');
const text = pageOf(known, files);
writeFileSync(page, text);
const { survivors } = parsePage(text);
const unexplained = survivors.filter(({ why }) => why === '');
process.stdout.write(`${survivors.length} rows, of which ${unexplained.length} have no explanation yet\n`);
process.exitCode = unexplained.length === 0 ? 0 : 1;
