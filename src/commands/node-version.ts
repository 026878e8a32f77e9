/** Old versions of Node must be able to load this file and `main.ts`, so these use only old features and imports. */

const oldest = 24;

/** The reason why musterd does not run on this version of Node, or `null` if it runs. */
export function nodeRefusal(version: string): string | null {
  if (Number(version.split('.')[0]) >= oldest) return null;
  return `Node ${oldest} or newer is needed, and this is Node ${version}`;
}
