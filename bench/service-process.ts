/**
 * The service, in a process of its own: the emulator, and in front of it a server that notes when requests arrive and
 * can give the same answer again without making it again, so that what is measured is the client.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { createEmulator, type Emulator } from '../src/emulator/create-emulator.ts';
import type { Arrival, Calls, Exchange, ServiceOptions } from './service.ts';

interface Answer {
  readonly authorization: string;
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly bytes: Buffer;
}

const monotonicMs = () => Number(process.hrtime.bigint() / 1000n) / 1000;

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Between two machines only; the front says its own. */
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date'];

function createFront(emulator: Emulator, options: ServiceOptions) {
  const arrivals: Arrival[] = [];
  const kept = new Map<string, Answer & Exchange>();
  const state = { delayMs: options.delayMs ?? 0 };

  const ask = async (exchange: Exchange, authorization: string): Promise<Answer> => {
    const { method, path, body } = exchange;
    const answer = await request(`${emulator.url}${path}`, {
      method: method as 'GET',
      headers: { authorization, 'content-type': 'application/json' },
      body: body === '' ? null : body,
    });
    const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined || ofConnection.includes(name) ? [] : [[name, value]],
    );
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return {
      authorization,
      status: answer.statusCode,
      headers: Object.fromEntries(headers) as Answer['headers'],
      bytes,
    };
  };

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const arrival: Arrival = {
      atMs: monotonicMs(),
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      body: '',
      status: 0,
    };
    arrivals.push(arrival);
    arrival.body = await bodyOf(incoming);
    if (state.delayMs > 0) await delay(state.delayMs);
    const { method, path, body } = arrival;
    const key = `${method} ${path} ${body}`;
    const known = options.replay ? kept.get(key) : undefined;
    const authorization = incoming.headers.authorization ?? known?.authorization ?? '';
    const given = known ?? (await ask({ method, path, body }, authorization));
    if (path === '/v1/users/update') kept.clear();
    else if (options.replay && given.status === 200)
      kept.set(key, { ...given, authorization, method, path, body });
    arrival.status = given.status;
    outgoing.writeHead(given.status, { ...given.headers, 'content-length': given.bytes.length });
    outgoing.end(given.bytes);
  };

  /** Makes all answers again, as they are by now. */
  const refresh = async () => {
    for (const [key, { method, path, body, authorization }] of kept) {
      const exchange = { method, path, body };
      kept.set(key, { ...exchange, ...(await ask(exchange, authorization)) });
    }
  };

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = 60_000;
  return { server, arrivals, kept, state, refresh };
}

/** Every so-manieth user and tag is edited as if by somebody in the web app. */
function editEvery(emulator: Emulator, nth: number, mark: string): void {
  for (const team of emulator.teams) {
    for (const [at, { id }] of team.users().entries())
      if (at % nth === 0) team.editUser(id, { email: `${mark}.${id}@example.org` });
    for (const [at, { id, tag }] of team.tags().entries())
      if (at % nth === 0) team.editTag(id, { tag: `${tag.slice(0, 40)} ${mark}` });
  }
}

async function main(options: ServiceOptions): Promise<void> {
  const emulator = await createEmulator({ http: true, ...options.emulator });
  const front = createFront(emulator, options);
  await new Promise<void>((resolve) => {
    front.server.listen(0, '127.0.0.1', resolve);
  });
  const address = front.server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const calls: Calls = {
    environments: () => emulator.teams.map(({ environment }) => ({ ...environment, MUSTERD_BASE_URL: url })),
    arrivals: () => front.arrivals,
    clear: () => {
      front.arrivals.length = 0;
    },
    exchanges: () => [...front.kept.values()].map(({ method, path, body }) => ({ method, path, body })),
    editEvery: async (nth, mark) => {
      editEvery(emulator, nth, mark);
      await front.refresh();
    },
    setDelay: (ms) => {
      front.state.delayMs = ms;
    },
  };
  process.on('message', ({ id, name, args }: { id: number; name: keyof Calls; args: readonly never[] }) => {
    const call = calls[name] as (...given: readonly never[]) => unknown;
    void Promise.resolve(call(...args)).then((result) => process.send?.({ id, result: result ?? null }));
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ id: 0, result: null });
}

await main(JSON.parse(process.argv[2] ?? '{}') as ServiceOptions);
