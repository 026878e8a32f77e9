import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';
import { titlesWith } from '../support/has-title.ts';

/** Without line breaks inside of a sentence: a title may be broken over two lines. */
const text = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8').replaceAll(/(?<!\|)\n +(?!\*)/g, ' ');
const flat = text.replaceAll(/(?<![|\n])\n(?![\n|#*])/g, ' ');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Every file that is named, with what is named after it: a title, or a name within it. */
const files = [
  ...flat.matchAll(/`((?:src|test|migrations|config)\/[\w./-]+|\.?[\w-]+\.(?:json|npmrc)|\.npmrc)`/g),
].map(({ 1: path = '', 0: whole, index }) => ({ path, after: flat.slice(index + whole.length) }));
const shown = files.flatMap(({ path, after }) => {
  const id = /^ \((S\d+)\)/.exec(after)?.[1];
  return id === undefined ? [] : [{ path, id }];
});
const named = files.flatMap(({ path, after }) => {
  const name = /^ `([^`]+)`/.exec(after)?.[1];
  return name === undefined ? [] : [{ path, name }];
});

describe('docs/security.md', () => {
  it('names only files that exist', () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.filter(({ path }) => !existsSync(join(ROOT, path))).map(({ path }) => path)).toEqual([]);
  });

  it('cites each test by an id that a title of the named file ends with', () => {
    expect(shown.length).toBeGreaterThan(40);
    expect(shown.filter(({ path, id }) => titlesWith(read(path), id).length === 0)).toEqual([]);
  });

  it('names only functions and words that the file cited just before them contains', () => {
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter(({ path, name }) => !read(path).includes(name))).toEqual([]);
  });

  it('formats as code only words that occur in the source, migrations, settings or README', () => {
    const places = globSync(
      [
        'src/**/*.ts',
        'migrations/**/*.sql',
        'config/*.*',
        'Dockerfile',
        '*.json',
        'README.md',
        'docs/settings.md',
      ],
      {
        cwd: ROOT,
      },
    );
    const all = [...places, '.npmrc', '.oxlintrc.json'].map(read).join('\n');
    const known = new Set(files.map(({ path }) => path));
    const words = [...flat.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
    expect(words.filter((word) => !known.has(word) && !all.includes(word))).toEqual([]);
  });

  it('gives each checklist row three cells, and says "Not met" for each rule without a place', () => {
    const [, checklist = ''] = text.split('\n## Checklist\n');
    const rows = checklist
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| Rule |'))
      .map((line) => line.split('|').slice(1, -1));
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter((row) => row.length !== 3)).toEqual([]);
    const rules = rows.filter(([rule = '']) => !rule.startsWith(' **'));
    const bare = rules.filter(
      ([, how = '', place = '']) => place.trim() === '' && !how.includes('**Not met'),
    );
    expect(bare).toEqual([]);
  });
});
