/** For a rotation of secrets: "create the second secret, deploy it, verify it with a call, then revoke the old one". */
import { ServiceError } from '../errors.ts';
import inboxes from '../model/listed/inboxes.ts';
import type { MakeCall } from './call.ts';
import { listOperation, type Operation, operations } from './operation.ts';
import type { CredentialName, Tokens } from './token.ts';

interface CredentialReport {
  readonly credential: CredentialName;
  readonly inUse: boolean;
  /**
   * The time of the last call that succeeded with the credential, in ms since 1970; `null` if none did since the client
   * was made. A mere check of the credential does not count, so that an old secret is shown as unused and can be revoked.
   */
  readonly lastNeededMs: number | null;
}

interface CheckedCredential extends CredentialReport {
  readonly accepted: boolean;
}

export interface CredentialCheck {
  credentials(): readonly CredentialReport[];
  /**
   * Tries each configured credential on `GET /v1/inboxes`, "the recommended low-risk credential check"
   * (interface.md, API Secret JWT, 9), or on `GET /v1/team` if a deployment has no such path. If the next secret is
   * accepted, it is used from then on.
   *
   * @throws ServiceError if the service gives no usable answer. A 401 does not throw: it is a result
   */
  checkCredentials(): Promise<readonly CheckedCredential[]>;
}

export function createCredentialCheck(call: MakeCall, tokens: Tokens): CredentialCheck {
  const report = (credential: CredentialName): CredentialReport => ({
    credential,
    inUse: tokens.inUse() === credential,
    lastNeededMs: tokens.lastNeeded().get(credential) ?? null,
  });
  const isAccepted = async (
    credential: CredentialName,
    operation: Operation = listOperation(inboxes),
  ): Promise<boolean> => {
    try {
      await call({ operation, credential });
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.status === 401) return false;
      if (error.status === 404 && operation !== operations.team)
        return await isAccepted(credential, operations.team);
      throw error;
    }
  };
  return {
    credentials: () => tokens.names.map(report),
    checkCredentials: async () => {
      const accepted = new Map<CredentialName, boolean>();
      for (const name of tokens.names) accepted.set(name, await isAccepted(name));
      const best = tokens.names.findLast((name) => accepted.get(name) === true);
      if (best !== undefined) tokens.prefer(best);
      return tokens.names.map((name) => ({ ...report(name), accepted: accepted.get(name) === true }));
    },
  };
}
