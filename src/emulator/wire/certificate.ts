import { generateKeyPair, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import forge from 'node-forge';

/** Key and certificate of an HTTPS server, and the authority that its clients have to trust. All in PEM. */
interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
  /** The certificate of the authority that was made for this one server. Its key is not kept. */
  readonly authority: string;
}

interface KeyPair {
  readonly pem: string;
  readonly privateKey: forge.pki.rsa.PrivateKey;
  readonly publicKey: forge.pki.rsa.PublicKey;
}

/** The keys and the name of the authority that signs. */
interface Signer {
  readonly keys: KeyPair;
  readonly subject: forge.pki.CertificateField[];
}

const dayMs = 86_400_000;
const lifetimeMs = 365 * dayMs;

/**
 * Creates a certificate authority, and a certificate signed by it for `hosts` (names or addresses), so that clients
 * verify the connection as with the real service. Both are valid for a year.
 */
export async function createServerCertificate(hosts: readonly string[]): Promise<ServerCertificate> {
  const signer: Signer = { keys: await createKeys(), subject: subjectOf('musterd emulator authority') };
  const keys = await createKeys();
  const authority = sign(signer, signer.keys, signer.subject, [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  const server = sign(signer, keys, subjectOf('musterd emulator'), [
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: hosts.map(alternativeName) },
    { name: 'authorityKeyIdentifier', keyIdentifier: authority.generateSubjectKeyIdentifier().getBytes() },
  ]);
  return {
    key: keys.pem,
    cert: forge.pki.certificateToPem(server),
    authority: forge.pki.certificateToPem(authority),
  };
}

function sign(
  signer: Signer,
  keys: KeyPair,
  subject: forge.pki.CertificateField[],
  extensions: object[],
): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  // The serial number is positive, as RFC 5280 4.1.2.2 demands.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  // The certificate is valid from a day ago, for clients whose clock is behind.
  certificate.validity.notBefore = new Date(Date.now() - dayMs);
  certificate.validity.notAfter = new Date(Date.now() + lifetimeMs);
  certificate.setSubject(subject);
  certificate.setIssuer(signer.subject);
  certificate.setExtensions(extensions);
  certificate.sign(signer.keys.privateKey, forge.md.sha256.create());
  return certificate;
}

function subjectOf(commonName: string): forge.pki.CertificateField[] {
  return [{ name: 'commonName', value: commonName }];
}

/** The type numbers are those of RFC 5280, 4.2.1.6: 2 is a DNS name, 7 an address. */
function alternativeName(host: string): object {
  return isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host };
}

/** Node's own cryptography creates keys in a tenth of a second; forge would take seconds. */
async function createKeys(): Promise<KeyPair> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return {
    pem: privateKey,
    privateKey: forge.pki.privateKeyFromPem(privateKey),
    publicKey: forge.pki.publicKeyFromPem(publicKey),
  };
}
