/** Environment variables within the text values of the file. */
import type { Environment } from './raw-settings.ts';

const marks = /\$\$\{|\$\{(?:([^}]*)\})?/g;
const reference = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/** The variables that a text refers to. */
export function variablesIn(text: string): readonly string[] {
  return [...text.matchAll(marks)].flatMap(([, inner]) => reference.exec(inner ?? '')?.[1] ?? []);
}

/**
 * `${NAME}` is the variable, `${NAME:-default}` the default where it is not set or empty, `$${` a literal
 * `${`. What is put in is not looked at again.
 *
 * @param onComplaint told what is wrong, never with a part of the text: it may be a secret
 */
export function substitute(text: string, env: Environment, onComplaint: (message: string) => void): string {
  return text.replace(marks, (mark, inner?: string) => {
    if (mark.startsWith('$$')) return '${';
    const [, name, fallback] = reference.exec(inner ?? '') ?? [];
    if (name === undefined) {
      onComplaint(
        '"$" and a brace begin the name of a variable, "}" ends it; "$$" before a brace stands for "$"',
      );
      return '';
    }
    const value = env[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) onComplaint(`the environment variable ${name} is not set`);
    return value ?? '';
  });
}
