/** Old versions of Node read this file and `main.ts`, which therefore use nothing new and import nothing else. */

const oldest = 24;

/** Why musterd does not run on this version of Node; or `null` if it does. */
export function nodeRefusal(version: string): string | null {
  if (Number(version.split('.')[0]) >= oldest) return null;
  return `Node ${oldest} or newer is needed, and this is Node ${version}`;
}
