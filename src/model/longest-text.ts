/** How many characters a text of the service may have: a row with more is not taken, and more is not sent. An editor may write
 * far fewer (`mirror.check_user_edit`). */
export const longestText = 262_144;

/** How many an editor may write of an email, and of each half of a name. */
export const longestWritten = { email: 320, half: 300 } as const;

/** Characters as Postgres counts them, not the halves of surrogate pairs. */
export function isTooLong(text: string): boolean {
  if (text.length <= longestText) return false;
  if (text.length > 2 * longestText) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > longestText;
}
