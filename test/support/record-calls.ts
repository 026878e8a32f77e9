/**
 * Loaded before a program (`node --import`): writes the named functions of src that ran, in the order of their first
 * call, as lines `file name` into the file that RECORDED_CALLS names. Inside `src` each such function says that it begins.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { allOf, namedFunctions, parse } from './syntax.ts';

const into = process.env['RECORDED_CALLS'] ?? '';
const root = new URL('../../src/', import.meta.url).href;
const first: boolean[] = [];
const functions: string[] = [];

Object.assign(globalThis, {
  musterdCalls(at: number) {
    if (first[at] === true) return;
    first[at] = true;
    appendFileSync(into, `${functions[at]}\n`);
  },
});

function saying(path: string, text: string): string {
  const insertions = namedFunctions(allOf(parse(text))).flatMap(({ name, body }) => {
    const call = `musterdCalls(${functions.push(`${path} ${name}`) - 1})`;
    return body.type === 'BlockStatement'
      ? [{ at: body.start + 1, text: `${call};` }]
      : [
          { at: body.start, text: `(${call},` },
          { at: body.end, text: ')' },
        ];
  });
  let [rest, said] = [text.length, ''];
  for (const { at, text: inserted } of insertions.toSorted((a, b) => b.at - a.at)) {
    said = inserted + text.slice(at, rest) + said;
    rest = at;
  }
  return text.slice(0, rest) + said;
}

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.startsWith(root)) return loaded;
    return { ...loaded, source: saying(url.slice(root.length), readFileSync(new URL(url), 'utf8')) };
  },
});
