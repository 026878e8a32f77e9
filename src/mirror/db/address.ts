/** The address of a database, which shows whether two connection settings name the same database. */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { type Address, folderPrefix, otherAddress } from '../../model/place.ts';
import { type ConnectionUrl, isLocal } from './database-url.ts';

/** The files with the machine's id: of systemd, then the older file of D-Bus. The first that exists is read. */
const idFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/**
 * A digest of this machine's id, because machine-id(5) asks to keep the id itself secret. It is `null` if there is no id,
 * as in many containers. Host name and boot id cannot replace it, because they may change at the next start.
 */
export function machineFrom(files: readonly string[]): string | null {
  for (const file of files) {
    try {
      const id = readFileSync(file, 'utf8').trim();
      if (/^[0-9a-f]{32}$/.test(id))
        return createHash('sha256').update(`musterd ${id}`).digest('hex').slice(0, 16);
    } catch {
      // This file cannot be read, so the next file is tried.
    }
  }
  return null;
}

let own: { readonly machine: string | null } | undefined;

/** The digest of the machine's id. The id is read once, because it does not change while a process lives. */
function thisMachine(): string | null {
  own ??= { machine: machineFrom(idFiles) };
  return own.machine;
}

/** The address of a database. Every loopback name becomes `localhost`. A local address includes the machine's id. */
export function addressOf({ hosts, name }: ConnectionUrl['parts']): Address {
  const all = hosts.map(({ host, port }) => {
    const isSocket = host.startsWith('/');
    const where = isSocket ? host : isLocal(host) ? 'localhost' : host.toLowerCase().replace(/\.$/, '');
    return `${where}:${port}/${name}`;
  });
  return {
    at: all.join(otherAddress),
    machine: hosts.some(({ host }) => isLocal(host)) ? thisMachine() : null,
  };
}

/** The address of the embedded server is its folder, because its port may change at each start. */
export function folderAddress(folder: string): Address {
  return { at: `${folderPrefix}${realpathSync(folder)}`, machine: thisMachine() };
}
