/** The settings file: YAML with environment variables filled in, and the position of each setting for complaints. */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { type Complaint, complaintsInWords, invalid } from './complaints.ts';
import { readText } from './environment.ts';
import { isSecret } from './known-secrets.ts';
import { type Environment, isSection, type Path, withoutEmpty } from './raw-settings.ts';
import type { FromFile } from './teams.ts';

const marks = /\$\$\{|\$\{(?:([^}]*)\})?/g;
const reference = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

function variablesIn(text: string): readonly string[] {
  return [...text.matchAll(marks)].flatMap(([, inner]) => reference.exec(inner ?? '')?.[1] ?? []);
}

/**
 * Replaces `${NAME}` by the value of the variable, `${NAME:-default}` by the default if the variable is unset or empty,
 * and `$${` by a literal `${`. References inside values are not replaced.
 * @param onComplaint called with a message about each mistake, without any part of the text, which can be a secret
 */
function substitute(text: string, env: Environment, onComplaint: (message: string) => void): string {
  return text.replace(marks, (mark, inner?: string) => {
    if (mark.startsWith('$$')) return '${';
    const [, name, fallback] = reference.exec(inner ?? '') ?? [];
    if (name === undefined) {
      onComplaint(
        '"$" and a brace begin the name of a variable, "}" ends it; write "$$" before a brace for a plain "$"',
      );
      return '';
    }
    const value = env[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) onComplaint(`the environment variable ${name} is not set`);
    return value ?? '';
  });
}

const keyOf = (key: unknown) => String(isScalar(key) ? key.value : key);

/** The value of a key in a mapping, together with the key's node, or the value at an index of a list. */
function childAt(node: unknown, key: PropertyKey): { readonly key?: unknown; readonly value: unknown } {
  if (isSeq(node)) return { value: node.items[Number(key)] };
  const pair = isMap(node) ? node.items.find((item) => keyOf(item.key) === String(key)) : undefined;
  return { key: pair?.key, value: pair?.value };
}

/** Visits all text values, but not keys. */
function fillIn(node: unknown, visit: (node: Node & { value: string }, path: Path) => void, path: Path = []) {
  if (isMap(node)) for (const { key, value } of node.items) fillIn(value, visit, [...path, keyOf(key)]);
  else if (isSeq(node)) for (const [at, inner] of node.items.entries()) fillIn(inner, visit, [...path, at]);
  else if (isScalar(node) && typeof node.value === 'string') visit(node as Node & { value: string }, path);
}

/** Finds line and column of the deepest node on a path, or of the node's key if the key is on an earlier line. */
function createLocate(file: string, document: Document, lines: LineCounter): FromFile['locate'] {
  const positionOf = (node: unknown) => {
    const start = (node as Node | null | undefined)?.range?.[0];
    return start === undefined ? undefined : lines.linePos(start);
  };
  return (path) => {
    let place = file;
    let node: unknown = document.contents;
    for (const step of path) {
      const { key, value } = childAt(node, step);
      const [head, body] = [positionOf(key), positionOf(value)];
      const at = body === undefined || (head !== undefined && head.line < body.line) ? head : body;
      if (at === undefined) break;
      place = `${file}:${at.line}:${at.col}`;
      node = value;
    }
    return place;
  };
}

const quoted = 'Put a value with special characters in quotes.';

/** The paths of YAML references whose target is missing. An unquoted secret that begins with `*` is such a reference. */
function lostReferences(node: unknown, document: Document, path: Path = []): readonly Path[] {
  if (isAlias(node)) return node.resolve(document) === undefined ? [path] : [];
  if (isMap(node))
    return node.items.flatMap(({ key, value }) => [
      ...(isAlias(key) ? lostReferences(key, document, path) : []),
      ...lostReferences(value, document, [...path, keyOf(key)]),
    ]);
  if (!isSeq(node)) return [];
  return node.items.flatMap((inner, at) => lostReferences(inner, document, [...path, at]));
}

/** @throws MusterdError `configuration`; the message has no part of the text, which can be a secret */
function toSettings(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch {
    throw invalid(`${file}: this is not YAML that can be read`, quoted);
  }
}

/** @throws MusterdError `configuration` with file, line and column of each mistake */
export function readConfigFile(file: string, env: Environment): FromFile {
  const lines = new LineCounter();
  const document = parseDocument(readText(file, 'The configuration'), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line, col } = lines.linePos(broken.pos[0]);
    // The parser's own message repeats the text, which may be a secret.
    const words = broken.code.toLowerCase().replaceAll('_', ' ');
    throw invalid(`${file}:${line}:${col}: this is not YAML (${words})`, quoted);
  }
  const locate = createLocate(file, document, lines);
  const complaints: Complaint[] = [];
  const variables = new Set<string>();
  let hasSecrets = false;
  fillIn(document.contents, (scalar, path) => {
    const named = variablesIn(scalar.value);
    for (const name of named) variables.add(name);
    hasSecrets ||= named.length === 0 && isSecret(String(path.at(-1)), scalar.value);
    scalar.value = substitute(scalar.value, env, (message) => {
      complaints.push({ where: locate(path), setting: path.map(String).join('.'), message });
    });
  });
  for (const path of lostReferences(document.contents, document))
    complaints.push({
      where: locate(path),
      setting: path.map(String).join('.'),
      message: `an alias (*) without an anchor; put a value with special characters in quotes`,
    });
  if (complaints.length > 0) throw invalid(complaintsInWords(complaints).join('\n'));
  const settings = toSettings(document, file);
  if (!isSection(settings)) throw invalid(`${file}: a mapping of settings is expected`);
  const { value: teams } = childAt(document.contents, 'teams');
  const names = isMap(teams) ? teams.items.map(({ key }) => keyOf(key)) : [];
  return { settings: withoutEmpty(settings), teams: names, variables, hasSecrets, locate };
}
