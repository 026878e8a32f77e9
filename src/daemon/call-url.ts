/** Checks `ping.url` and `notify.url`. Not part of `call-out.ts`, because every command checks them but few call them. */
import { MusterdError } from '../errors.ts';

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\.[\d.]+$/.test(host);

/** @throws MusterdError `configuration`. The address can be a secret, so no message repeats it. */
export function readCallUrl(text: string): URL {
  const invalid = (problem: string) =>
    new MusterdError('configuration', `The address ${problem}`, {
      hint: 'Give one with https, or http on this machine, such as https://alarms.example.net/ping/musterd.',
    });
  const url = URL.parse(text);
  if (url === null) throw invalid('is no address');
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  if (!isSafe) throw invalid('has to be https; plain http is for loopback only');
  if (url.username !== '' || url.password !== '') throw invalid('may not hold a name and a password');
  return url;
}
