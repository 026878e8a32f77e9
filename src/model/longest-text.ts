/**
 * The longest text, in characters, that is read from the service or sent to it. A row with a longer text is rejected.
 * The limits for editors are much lower (`mirror.check_user_edit`).
 */
export const longestText = 262_144;

/** The most characters that an editor may write in an email, and in one half of a name. */
export const longestWritten = { email: 320, half: 300 } as const;

/** Counts characters like Postgres: a surrogate pair is one character. */
export function isTooLong(text: string): boolean {
  if (text.length <= longestText) return false;
  if (text.length > 2 * longestText) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > longestText;
}
