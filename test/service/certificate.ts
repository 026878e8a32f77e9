/** Certificates for tests, made on the spot. */
import forge from 'node-forge';

export interface Authority {
  readonly certPem: string;
  issue(options: { readonly host: string; readonly expired?: boolean }): { key: string; cert: string };
}

function validity(cert: forge.pki.Certificate, expired: boolean): void {
  const day = 86_400_000;
  cert.validity.notBefore = new Date(Date.now() - 10 * day);
  cert.validity.notAfter = new Date(Date.now() + (expired ? -1 : 1) * day);
}

export function createAuthority(): Authority {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const ca = forge.pki.createCertificate();
  const name = [{ name: 'commonName', value: 'musterd test authority' }];
  ca.publicKey = keys.publicKey;
  ca.serialNumber = '01';
  validity(ca, false);
  ca.setSubject(name);
  ca.setIssuer(name);
  ca.setExtensions([
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
  ]);
  ca.sign(keys.privateKey, forge.md.sha256.create());
  let serial = 1;
  return {
    certPem: forge.pki.certificateToPem(ca),
    issue: ({ host, expired = false }) => {
      const leafKeys = forge.pki.rsa.generateKeyPair(2048);
      const leaf = forge.pki.createCertificate();
      serial += 1;
      leaf.publicKey = leafKeys.publicKey;
      leaf.serialNumber = serial.toString(16).padStart(2, '0');
      validity(leaf, expired);
      leaf.setSubject([{ name: 'commonName', value: host }]);
      leaf.setIssuer(name);
      const isIp = /^[\d.]+$/.test(host);
      leaf.setExtensions([
        { name: 'basicConstraints', cA: false },
        { name: 'subjectAltName', altNames: [isIp ? { type: 7, ip: host } : { type: 2, value: host }] },
      ]);
      leaf.sign(keys.privateKey, forge.md.sha256.create());
      return {
        key: forge.pki.privateKeyToPem(leafKeys.privateKey),
        cert: forge.pki.certificateToPem(leaf),
      };
    },
  };
}
