/** How a database is named, so that two settings for one place are told from those for two. */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { type Address, folderPrefix } from '../../model/place.ts';
import type { ConnectionUrl } from './database-url.ts';

/** The first that is there: systemd's, and D-Bus's from before it. */
const idFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/**
 * A digest of the id of this machine, since the id itself is to be kept to oneself (machine-id(5)). `null`: there is
 * none, as in many containers; a name of the host or the boot would differ the next time.
 */
export function machineFrom(files: readonly string[]): string | null {
  for (const file of files) {
    try {
      const id = readFileSync(file, 'utf8').trim();
      if (/^[0-9a-f]{32}$/.test(id))
        return createHash('sha256').update(`musterd ${id}`).digest('hex').slice(0, 16);
    } catch {
      // The next one.
    }
  }
  return null;
}

let own: { readonly machine: string | null } | undefined;

/** Read once, because it does not change while a process lives. */
function thisMachine(): string | null {
  own ??= { machine: machineFrom(idFiles) };
  return own.machine;
}

/** Loopback and sockets are each machine's own; their other names are one name. */
export function addressOf({ host, port, name, isLocal }: ConnectionUrl['parts']): Address {
  const isSocket = host.startsWith('/');
  const where = isSocket ? host : isLocal ? 'localhost' : host.toLowerCase().replace(/\.$/, '');
  return { at: `${where}:${port}/${name}`, machine: isLocal ? thisMachine() : null };
}

/** The embedded server goes by its folder: its port may be another one at each start. */
export function folderAddress(folder: string): Address {
  return { at: `${folderPrefix}${realpathSync(folder)}`, machine: thisMachine() };
}
