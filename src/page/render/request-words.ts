/** Requests in words: a tag to be made, a message to be scheduled, a conversation to be marked as read. */
import type { WaitingMessages } from '../read/page-waiting.ts';
import { waits } from './hold-words.ts';
import { type Html, html } from './html.ts';
import { to } from './links.ts';
import type { PageContext } from './view.ts';
import { inLetters, many } from './words.ts';

/** The address of a message in its view. */
export const messagePath = (localId: string): string => `/messages#m-${localId}`;

/** The subject of a row of a list, in place of a person. */
export function requestName(context: PageContext, field: string, localId: string): Html {
  if (field === 'message') return html`<a href="${to(context, messagePath(localId))}">a message</a>`;
  return html`<span>${field === 'tag' ? 'a new tag' : 'a conversation'}</span>`;
}

/** `2 messages wait for somebody, and of one nobody knows whether the service has it` */
export function messagesTitle({ held, unknown }: Pick<WaitingMessages, 'held' | 'unknown'>): string {
  const waiting = `${many(held, 'message')} ${waits(held, 'somebody')}`;
  if (unknown === 0) return waiting;
  const those = unknown === 1 ? ['one', 'it'] : [inLetters(unknown), 'them'];
  const doubt = `nobody knows whether the service has ${those[1]}`;
  return held === 0 ? `${many(unknown, 'message')}: ${doubt}` : `${waiting}, and of ${those[0]} ${doubt}`;
}
