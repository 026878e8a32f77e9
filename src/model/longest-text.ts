/**
 * The longest text of the service in characters. A row with a longer one is not taken, and nothing longer is sent. An
 * editor may write much less (`mirror.check_user_edit`).
 */
export const longestText = 262_144;

/** The longest email, and half of a name, that an editor may write. */
export const longestWritten = { email: 320, half: 300 } as const;

/** Characters as Postgres counts them, not the halves of surrogate pairs. */
export function isTooLong(text: string): boolean {
  if (text.length <= longestText) return false;
  if (text.length > 2 * longestText) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > longestText;
}
