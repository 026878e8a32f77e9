import type { Fault } from './faults.ts';
import type { Variants } from './variants.ts';

/** An API Secret (interface.md, Authentication). */
export interface TeamSecret {
  readonly id: string;
  readonly key: string;
}

/** One team that the emulator plays. Everything has a default. */
export interface TeamOptions {
  readonly teamId?: number;
  readonly name?: string;
  /** How many there are of each; the content follows from the seed. */
  readonly users?: number;
  readonly tags?: number;
  readonly fields?: number;
  readonly surveys?: number;
  readonly inboxes?: number;
  /** The number of contacts; the interface shows no way to see one of them. */
  readonly contacts?: number;
  /** At most two. */
  readonly secrets?: readonly TeamSecret[];
  /** The legacy team API key; `undefined`: the team has none. */
  readonly apiKey?: string | undefined;
  /** Requests a minute; 0: no limit. */
  readonly ratePerMinute?: number;
  readonly seed?: number;
}

export interface EmulatorOptions extends TeamOptions {
  /** Further teams; what one of them leaves out is as the first team has it. */
  readonly teams?: readonly TeamOptions[];
  /** 0: any free one. */
  readonly port?: number;
  /** An address of this machine; loopback unless told otherwise. */
  readonly host?: string;
  /** By what name clients call: it stands in the certificate and in the environment to use. */
  readonly hostName?: string;
  /** Plain HTTP, which is refused on anything but loopback. */
  readonly http?: boolean;
  readonly variants?: Partial<Variants>;
  readonly faults?: readonly Fault[];
  /** Where the certificate of the HTTPS authority is written; a file of its own when left out. */
  readonly authorityFile?: string;
  /**
   * A file that the teams are read from at the start, if it is there (what the options say of teams then
   * counts for nothing), and kept in from then on.
   */
  readonly stateFile?: string;
  /** The token of the control endpoint; without one it answers loopback alone. */
  readonly controlToken?: string;
}
