import { addControlRoutes, isControl } from './control/control-routes.ts';
import { createStranger, createTeams } from './rules/create-teams.ts';
import { createEmulatorClock, type EmulatorClock } from './rules/emulator-clock.ts';
import { createFaultBox } from './faults/fault-box.ts';
import type { Fault } from './faults/faults.ts';
import { createHooks, type Hooks } from './faults/hooks.ts';
import { createLateWrites } from './faults/late-writes.ts';
import { createServer, type ListeningServer } from './wire/web-server.ts';
import { addOpenApiRoute, openApiPath } from './wire/open-api.ts';
import type { EmulatorOptions } from './options.ts';
import { createRateLimit } from './rules/rate-limit.ts';
import { createRequestLog, type LoggedRequest } from './wire/request-log.ts';
import { addServiceRoutes } from './wire/service-routes.ts';
import { type Snapshot, takeSnapshot } from './control/snapshot.ts';
import { keepStateFile, readTeams } from './control/state-file.ts';
import type { PlayedTeam } from './rules/played-team.ts';
import { createTeamControl, type TeamControl } from './control/team-control.ts';
import { defaultVariants, type Variants } from './faults/variants.ts';
import { type EmulatorWorld, restoreWorld } from './world.ts';

export interface Emulator extends Hooks {
  /** The address of the service, without a trailing slash and without `/v1`. */
  readonly url: string;
  /** The environment that a client of the first team needs. */
  readonly environment: Readonly<Record<string, string>>;
  /** The certificate authority to trust, in PEM; `undefined` over plain HTTP. */
  readonly authority: string | undefined;
  /** The first team. */
  readonly team: TeamControl;
  readonly teams: readonly TeamControl[];
  /** The service's clock; moving it ages tokens and lets the minute of the rate limit pass. */
  readonly clock: EmulatorClock;
  /** All requests since the start or the last `clearRequests`, in the order of their arrival. */
  readonly requests: readonly Readonly<LoggedRequest>[];
  clearRequests(): void;
  variants(): Variants;
  /** Changes how the service behaves, starting with the next request. */
  setVariants(changed: Partial<Variants>): void;
  /** Adds a fault. @returns a function that removes it */
  addFault(fault: Fault): () => void;
  clearFaults(): void;
  /** Carries out the writes that the fault `late` holds back. */
  applyLateWrites(): void;
  /** The present state of all teams, as a value for JSON. */
  snapshot(): Snapshot;
  /** Gives all teams the content of the snapshot. Throws an Error if the snapshot has other team ids. */
  restore(snapshot: Snapshot): void;
  /** Cuts all connections; a second call does nothing. */
  close(): Promise<void>;
}

/**
 * Starts the service of interface.md, with teams derived from the seed (or read from the state file).
 * Resolves once it accepts connections; throws an Error if the options contradict each other
 * or the port is taken.
 */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const kept = options.stateFile === undefined ? undefined : readTeams(options.stateFile);
  const world = createWorld(kept ?? createTeams(options), options);
  const server = await createServer(options);
  addServiceRoutes(server.app, world, (target) => isControl(target) || target === openApiPath);
  addOpenApiRoute(server.app);
  const teams: TeamControl[] = [];
  addControlRoutes(server.app, { world, teams, token: options.controlToken });
  const address = await server.app
    .listen({ host: server.host, port: options.port ?? 0 })
    .catch((error: unknown) => {
      server.clean();
      throw error;
    });
  const url = withName(address, options.hostName);
  teams.push(
    ...world.teams.map((team) => createTeamControl(team, world.clock, environmentOf(team, url, server))),
  );
  const [team] = teams;
  if (team === undefined) throw new Error('An emulator needs a team.');
  const { stateFile } = options;
  const saveLast = stateFile === undefined ? undefined : keepStateFile(stateFile, world.teams);
  return {
    url,
    environment: team.environment,
    authority: server.authority,
    team,
    teams,
    ...controlOf(world),
    close: async () => {
      await server.app.close();
      saveLast?.();
      server.clean();
    },
  };
}

function withName(address: string, name: string | undefined): string {
  if (name === undefined) return address;
  const url = new URL(address);
  url.hostname = name;
  return url.origin;
}

function createWorld(teams: readonly PlayedTeam[], options: EmulatorOptions): EmulatorWorld {
  const clock = createEmulatorClock();
  const strangers = new Map<PlayedTeam, PlayedTeam>();
  function stranger(team: PlayedTeam): PlayedTeam {
    const stranger = teams.find((other) => other !== team) ?? strangers.get(team) ?? createStranger(team);
    strangers.set(team, stranger);
    return stranger;
  }
  return {
    teams,
    rateLimits: new Map(teams.map((team) => [team.id, createRateLimit()])),
    clock,
    log: createRequestLog(),
    hooks: createHooks(),
    faults: createFaultBox(options.faults),
    late: createLateWrites(),
    stranger,
    variants: { ...defaultVariants(), ...options.variants },
  };
}

function controlOf(
  world: EmulatorWorld,
): Omit<Emulator, 'url' | 'environment' | 'authority' | 'team' | 'teams' | 'close'> {
  return {
    clock: world.clock,
    requests: world.log.requests,
    clearRequests: () => world.log.clear(),
    variants: () => world.variants,
    setVariants: (changed) => {
      world.variants = { ...world.variants, ...changed };
    },
    before: world.hooks.before,
    after: world.hooks.after,
    rewrite: world.hooks.rewrite,
    addFault: (fault) => world.faults.add(fault),
    clearFaults: () => world.faults.clear(),
    applyLateWrites: () => world.late.settle(),
    snapshot: () => takeSnapshot(world.teams),
    restore: (snapshot) => restoreWorld(world, snapshot),
  };
}

function environmentOf(team: PlayedTeam, url: string, server: ListeningServer): Record<string, string> {
  const [secret] = team.secrets;
  const { authorityFile } = server;
  return {
    MUSTERD_BASE_URL: url,
    ...(secret === undefined ? {} : { MUSTERD_SECRET_ID: secret.id, MUSTERD_SECRET_KEY: secret.key }),
    ...(secret === undefined && team.apiKey !== undefined ? { MUSTERD_API_KEY: team.apiKey } : {}),
    ...(authorityFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorityFile }),
  };
}
