import {
  existsSync,
  readFileSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import type { PlayedTeam } from '../rules/played-team.ts';
import { teamsIn, type Snapshot, takeSnapshot } from './snapshot.ts';

/** The path with symbolic links followed. Another user's link is refused: it could redirect the file. */
export function targetOf(path: string): string {
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named?.isSymbolicLink() !== true) return path;
  if (named.uid !== 0 && named.uid !== process.geteuid?.())
    throw new Error(`${path} is a link of another user; name the file itself, or another file.`);
  return existsSync(path) ? realpathSync(path) : path;
}

/** Writes the text to a new file, which then atomically replaces the file at the path. */
export function writeOwnFile(path: string, text: string, mode: number): void {
  const target = targetOf(path);
  // The name is random, so no other user can have created this file before.
  const part = `${target}.${randomUUID()}.new`;
  try {
    writeFileSync(part, text, { mode, flag: 'wx' });
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

const everyMs = 1000;

/** The teams in the file, or `undefined` if there is no file yet. Throws an Error if the file has another content. */
export function readTeams(given: string): readonly PlayedTeam[] | undefined {
  const path = targetOf(given);
  if (!existsSync(path)) return undefined;
  try {
    return teamsIn(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new Error(`${path} is not the state of an emulator; name another file.`, { cause });
  }
}

/**
 * Saves the teams now, and then once a second if something has changed. The file is replaced atomically.
 * @returns a function that ends the periodic saving and saves a last time
 */
export function keepStateFile(path: string, teams: readonly PlayedTeam[]): () => void {
  let saved = -1;
  function save(): void {
    const version = teams.reduce((sum, team) => sum + team.version, 0);
    if (version === saved) return;
    // The file contains the API Secrets of the emulated teams.
    writeOwnFile(path, inLines(takeSnapshot(teams)), 0o600);
    saved = version;
  }
  save();
  const timer = setInterval(save, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    save();
  };
}

/** The state as JSON with one line per row, so that a diff shows only the rows that changed. */
function inLines({ format, teams }: Snapshot): string {
  const blocks = teams.map((team) => {
    const lines = Object.entries(team).map(([key, value]: readonly [string, unknown]) => {
      const rows = Array.isArray(value) ? value.map((row) => `\n      ${JSON.stringify(row)}`) : [];
      return `    ${JSON.stringify(key)}: ${rows.length === 0 ? JSON.stringify(value) : `[${rows.join(',')}\n    ]`}`;
    });
    return `  {\n${lines.join(',\n')}\n  }`;
  });
  return `{ "format": ${JSON.stringify(format)}, "teams": [\n${blocks.join(',\n')}\n] }\n`;
}
