/** How many characters a text of the service may have, and so each value that is written there: an editor is refused
 * more (`mirror.check_user_edit` has the same number), it is not sent, and a row with more is not taken. */
export const longestText = 262_144;

/** Characters as Postgres counts them, not the halves of surrogate pairs. */
export function isTooLong(text: string): boolean {
  if (text.length <= longestText) return false;
  if (text.length > 2 * longestText) return true;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > longestText;
}
