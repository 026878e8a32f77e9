import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const start = /(?<![.\w])(?:spawn|spawnSync|execFile|execFileSync|exec|execSync|fork)\)?\(/g;

/** Each call of a function that starts a program, up to the closing parenthesis. */
function startsIn(code: string): string[] {
  return [...code.matchAll(start)].map(({ 0: name, index }) => {
    let end = index + name.length;
    for (let depth = 1; depth > 0 && end < code.length; end += 1) {
      if (code[end] === '(') depth += 1;
      if (code[end] === ')') depth -= 1;
    }
    return code.slice(index, end);
  });
}

describe('programs that musterd starts', () => {
  const files = globSync('src/**/*.ts').map((file) => ({ file, code: readFileSync(file, 'utf8') }));

  it('every call that starts a program passes a chosen environment, never all of process.env (S23)', () => {
    const starts = files.flatMap(({ file, code }) =>
      code.includes("'node:child_process'") ? startsIn(code).map((call) => ({ file, call, code })) : [],
    );
    expect(starts.length).toBeGreaterThan(5);
    const bare = starts.filter(({ call, code }) => {
      if (/\benv: /.test(call)) return false;
      // Options that have a name of their own.
      const names = [...call.matchAll(/\b(\w+)\b/g)].map(([name]) => name);
      return !names.some((name) => new RegExp(`const ${name} = \\{[^;]*\\benv: `, 's').test(code));
    });
    expect(bare.map(({ file, call }) => `${file}: ${call}`)).toEqual([]);
    const whole = starts.filter(({ call, code }) =>
      /env: (?:process\.env|\{ ?\.\.\.process\.env)/.test(call + code),
    );
    expect(whole.map(({ file }) => file)).toEqual([]);
  });
});
