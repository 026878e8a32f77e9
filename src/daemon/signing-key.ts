/** Checks `notify.secret`. Not part of `webhook.ts`, because every command checks the secret but few sign with it. */
import { MusterdError } from '../errors.ts';

const marked = 'whsec_';
const leastBytes = 16;

/** The key in a secret: the base64 after `whsec_`, or the bytes of the text. @throws MusterdError `configuration` */
export function readSigningKey(secret: string): Buffer {
  if (!secret.startsWith(marked)) return Buffer.from(secret);
  const text = secret.slice(marked.length);
  const key = Buffer.from(text, 'base64');
  const isWhole = key.toString('base64').replaceAll('=', '') === text.replaceAll('=', '');
  if (isWhole && key.length >= leastBytes) return key;
  throw new MusterdError(
    'configuration',
    `After ${marked}, base64 of at least ${leastBytes} bytes is expected`,
  );
}
