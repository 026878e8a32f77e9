import type { Fault } from './faults/faults.ts';
import type { Variants } from './faults/variants.ts';

/** An API Secret (interface.md, Authentication). */
export interface TeamSecret {
  readonly id: string;
  readonly key: string;
}

/** The options of one emulated team. All have defaults. */
export interface TeamOptions {
  readonly teamId?: number;
  readonly name?: string;
  /** Number of rows of each kind; the content is derived from the seed. */
  readonly users?: number;
  readonly tags?: number;
  readonly fields?: number;
  readonly surveys?: number;
  readonly inboxes?: number;
  /** The number of contacts. The interface has no endpoint that shows a single contact. */
  readonly contacts?: number;
  /** At most two API Secrets. */
  readonly secrets?: readonly TeamSecret[] | undefined;
  /** The legacy team API key; `undefined` if the team has none. */
  readonly apiKey?: string | undefined;
  /** Requests per minute; 0 for no limit. */
  readonly ratePerMinute?: number;
  readonly seed?: number;
}

export interface EmulatorOptions extends TeamOptions {
  /** Further teams; their defaults are the first team's options. */
  readonly teams?: readonly TeamOptions[];
  /** The port; 0 for any free port. */
  readonly port?: number;
  /** An address of this machine; loopback by default. */
  readonly host?: string | undefined;
  /** The host name for clients, used in the certificate and in the printed environment. */
  readonly hostName?: string | undefined;
  /** True for plain HTTP, which is refused on every address except loopback. */
  readonly http?: boolean;
  readonly variants?: Partial<Variants>;
  readonly faults?: readonly Fault[];
  /** The file that gets the certificate of the HTTPS authority. The default is a temporary file. */
  readonly authorityFile?: string | undefined;
  /**
   * The file to which the teams are saved. If it exists at the start, the teams are read from it, and
   * options about teams are ignored.
   */
  readonly stateFile?: string | undefined;
  /** The token of the control endpoint; without a token, the endpoint answers only loopback. */
  readonly controlToken?: string | undefined;
}
