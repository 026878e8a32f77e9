/** Checks `ping.url` and `notify.url`. Not part of `call-out.ts`, because every command checks them but few call them. */
import { MusterdError } from '../errors.ts';

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\.[\d.]+$/.test(host);

/** @throws MusterdError `configuration`. The address can be a secret, so no message repeats it. */
export function readCallUrl(text: string): URL {
  const invalid = (problem: string) =>
    new MusterdError('configuration', `The address ${problem}`, {
      hint: 'Give an address with https, or http on this machine, such as https://alarms.example.net/ping/musterd.',
    });
  const url = URL.parse(text);
  if (url === null) throw invalid('is not a URL');
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  if (!isSafe) throw invalid('must be https; plain http is allowed on loopback only');
  if (url.username !== '' || url.password !== '') throw invalid('must not contain a name or a password');
  return url;
}
