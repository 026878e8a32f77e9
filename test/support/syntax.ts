/** Source text as a syntax tree (ESTree with types), for what is counted and recorded of it. */
import { parseAst } from 'rolldown/parseAst';

export interface Node {
  readonly type: string;
  /** Where it begins and ends in the text, in characters. */
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
const partsOf = (node: Node): readonly Node[] => Object.values(node).flat().filter(isNode);

export function parse(text: string): Node {
  const program: unknown = parseAst(text, { lang: 'ts' });
  if (!isNode(program)) throw new Error('The parser returned no tree');
  return program;
}

/** The node and all that are in it, in the order of the text. @param enters: false leaves out what is in a node */
export function allOf(node: Node, enters: (node: Node) => boolean = () => true): readonly Node[] {
  const found: Node[] = [];
  const visit = (one: Node) => {
    found.push(one);
    for (const part of partsOf(one)) if (enters(part)) visit(part);
  };
  visit(node);
  return found;
}

export const isFunction = ({ type }: Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression';

export interface NamedFunction {
  readonly name: string;
  readonly node: Node;
  readonly body: Node;
}

/** A function with what names it: its own name, or the constant, property or method that it is. */
function named(node: Node): NamedFunction | undefined {
  const [name, given] =
    node.type === 'FunctionDeclaration'
      ? [node['id'], node]
      : [node['id'] ?? node['key'], node['init'] ?? node['value']];
  if (!isNode(name) || typeof name['name'] !== 'string' || !isNode(given) || !isFunction(given))
    return undefined;
  const body = given['body'];
  return isNode(body) ? { name: name['name'], node: given, body } : undefined;
}

/** @param nodes as {@link allOf} returns them */
export const namedFunctions = (nodes: readonly Node[]): readonly NamedFunction[] =>
  nodes.flatMap((node) => named(node) ?? []);
