import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../support/load-config.ts';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { ROOT, temporaryFolder } from '../support/checkout.ts';
import { runMusterd } from '../system/run-musterd.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly args: Readonly<Record<string, string>> };
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly networks?: { readonly default: { readonly aliases: readonly string[] } };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [more: string]: unknown;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const config = (name: string) => join(ROOT, 'config', name);
const read = (name: string) => readFileSync(config(name), 'utf8');
const compose = parse(read('compose.yaml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};
const ours = ['musterd', 'musterd-2'];
const pack = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly files: readonly string[];
};
/** What lies beside the file and is mounted, and where. */
const mounts = services.flatMap(([name, { volumes = [] }]) =>
  volumes.flatMap((volume) => {
    const [from = '', to = '', mode = ''] = volume.split(':');
    return from.startsWith('./') ? [{ name, from: from.slice(2), to, mode }] : [];
  }),
);

describe('config/compose.yaml', () => {
  it('runs musterd, Postgres, Prometheus, Grafana, and a second musterd in the profile "replicas"', () => {
    expect(Object.keys(compose.services)).toEqual([...ours, 'postgres', 'prometheus', 'grafana']);
    expect(services.filter(([, { profiles }]) => profiles !== undefined).map(([name]) => name)).toEqual([
      'musterd-2',
    ]);
    const { profiles, ...second } = service('musterd-2');
    expect(profiles).toEqual(['replicas']);
    expect(second).toEqual(service('musterd'));
    expect(second.environment).toMatchObject({ MUSTERD__daemon__queue: 'postgres' });
  });

  it.each(services)('pins the image of %s to a version', (_, { image }) => {
    const [, tag = ''] = /:([\w.-]+)\}?$/.exec(image) ?? [];
    expect(tag).toMatch(/^v?\d+\.\d+/);
  });

  it('lets a variable replace each image and base image by an image with a digest (S74)', () => {
    const variables = services.map(([name, { image }]) => [name, /^\$\{(\w+):-[^}]+\}$/.exec(image)?.[1]]);
    expect(variables).toEqual([
      ['musterd', 'MUSTERD_IMAGE'],
      ['musterd-2', 'MUSTERD_IMAGE'],
      ['postgres', 'POSTGRES_IMAGE'],
      ['prometheus', 'PROMETHEUS_IMAGE'],
      ['grafana', 'GRAFANA_IMAGE'],
    ]);
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(([, base]) => base);
    expect(bases).toEqual(['$'.concat('{NODE}'), '$'.concat('{RUNTIME}')]);
    const argument = (name: string) => new RegExp(`^ARG ${name}=(\\S+)$`, 'm').exec(dockerfile)?.[1] ?? '';
    const args = {
      NODE: `\${NODE_IMAGE:-${argument('NODE')}}`,
      RUNTIME: `\${RUNTIME_IMAGE:-${argument('RUNTIME')}}`,
    };
    for (const name of ours) expect(service(name).build?.args).toEqual(args);
    const manual = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    for (const [, variable = ''] of [...variables, ['', 'NODE_IMAGE'], ['', 'RUNTIME_IMAGE']]) {
      if (variable !== 'MUSTERD_IMAGE') expect(manual).toMatch(new RegExp(`^${variable}=\\S+@sha256:`, 'm'));
    }
  });

  it('builds the image of musterd from the checkout, tagged with the version of package.json', () => {
    for (const name of ours) {
      expect(service(name).image).toBe(`\${MUSTERD_IMAGE:-musterd:${pack.version}}`);
      expect(existsSync(config(join(service(name).build?.context ?? '', 'Dockerfile')))).toBe(true);
    }
  });

  it.each(services)('passes secrets to %s only as files', (_, { environment = {}, secrets = [] }) => {
    const telling = Object.entries(environment).filter(([name]) =>
      /password|secret|key|token|database_url/i.test(name),
    );
    for (const [name, value] of telling) {
      expect(name).toMatch(/_FILE$/);
      expect(secrets.map((secret) => `/run/secrets/${secret}`)).toContain(value);
    }
    expect(Object.values(environment).filter((value) => /\/\/[^/]*@/.test(value))).toEqual([]);
    expect(secrets.filter((secret) => compose.secrets[secret] === undefined)).toEqual([]);
  });

  it('keeps each secret in a folder that git ignores', () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
    expect(ignored).toContain('config/secrets/');
    for (const [name, { file }] of Object.entries(compose.secrets)) expect(file).toBe(`./secrets/${name}`);
    const used = services.flatMap(([, { secrets = [] }]) => secrets);
    expect(Object.keys(compose.secrets).filter((name) => !used.includes(name))).toEqual([]);
  });

  it.each(ours)('runs %s with a read-only file system, without capabilities, ports and volumes', (name) => {
    expect(service(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      restart: 'unless-stopped',
      depends_on: { postgres: { condition: 'service_healthy' } },
    });
    expect(service(name).ports).toBe(undefined);
    expect(service(name).volumes).toBe(undefined);
    const { test: words = [] } = service(name).healthcheck ?? {};
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    const [, json = '[]'] = /^HEALTHCHECK .*CMD (.*)$/m.exec(dockerfile) ?? [];
    expect(words).toEqual(['CMD', ...(JSON.parse(json) as string[]), '/freshness']);
  });

  it.each([...ours, 'postgres'])('disables core dumps of %s (S62)', (name) => {
    expect(service(name)['ulimits']).toEqual({ core: 0 });
  });

  it('sets only settings that musterd knows', () => {
    const general = Object.entries(service('musterd').environment ?? {}).filter(([name]) =>
      name.startsWith('MUSTERD__'),
    );
    expect(loadConfig(undefined, Object.fromEntries(general)).daemon.queue).toBe('postgres');
    const names = services.flatMap(([, { environment = {} }]) =>
      Object.keys(environment).filter((name) => /^(MUSTERD|DATABASE)_(?!_)/.test(name)),
    );
    const known = readFileSync(join(ROOT, 'src/config/environment.ts'), 'utf8');
    expect(names.filter((name) => !known.includes(`  ${name.replace(/_FILE$/, '')}: [`))).toEqual([]);
  });

  it.each(services)('opens the ports of %s only on 127.0.0.1', (_, { ports = [] }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it.each(mounts)('mounts $from into $name read-only from a file of the package', ({ from, mode }) => {
    expect(existsSync(config(from))).toBe(true);
    expect(mode).toBe('ro');
    const path = `config/${from}`;
    expect(pack.files.some((file) => path === file || path.startsWith(`${file}/`))).toBe(true);
  });

  it('declares exactly the volumes that its services use', () => {
    const named = services.flatMap(([, { volumes = [] }]) =>
      volumes.flatMap((volume) => (volume.startsWith('.') ? [] : [volume.split(':')[0] ?? ''])),
    );
    expect(named.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  });
});

describe('the files for Prometheus and Grafana', () => {
  const inService = (name: string) => mounts.filter((mount) => mount.name === name).map(({ to }) => to);

  it('Prometheus scrapes each musterd at the port of the image, and loads the alerts', () => {
    const { rule_files: rules, scrape_configs: scrapes } = parse(read('prometheus.yaml')) as {
      readonly rule_files: readonly string[];
      readonly scrape_configs: readonly { readonly dns_sd_configs: readonly object[] }[];
    };
    expect(inService('prometheus')).toEqual(expect.arrayContaining([...rules]));
    expect(service('prometheus').command?.[0]).toBe('--config.file=/etc/prometheus/prometheus.yaml');
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    const port = Number(/^ENV MUSTERD__status__port=(\d+)$/m.exec(dockerfile)?.[1]);
    expect(dockerfile).toContain(`\nEXPOSE ${port}\n`);
    expect(scrapes.flatMap((scrape) => scrape.dns_sd_configs)).toMatchObject([{ names: ['musterd'], port }]);
    for (const name of ours) expect(service(name).networks?.default.aliases).toEqual(['musterd']);
  });

  it('Grafana reads Prometheus as its default data source, and shows both dashboards', () => {
    const { datasources } = parse(read('grafana/datasources/prometheus.yaml')) as {
      readonly datasources: readonly {
        readonly type: string;
        readonly url: string;
        readonly isDefault: boolean;
      }[];
    };
    expect(datasources).toMatchObject([
      { type: 'prometheus', url: 'http://prometheus:9090', isDefault: true },
    ]);
    const { providers } = parse(read('grafana/dashboards/musterd.yaml')) as {
      readonly providers: readonly { readonly options: { readonly path: string } }[];
    };
    const folder = providers[0]?.options.path ?? '';
    expect(inService('grafana').filter((to) => to.startsWith(`${folder}/`))).toEqual([
      `${folder}/musterd.json`,
      `${folder}/reports.json`,
    ]);
    expect(JSON.parse(read('grafana-dashboard.json'))).toMatchObject({ uid: 'musterd' });
    expect(JSON.parse(read('grafana-reports.json'))).toMatchObject({ uid: 'musterd-reports' });
  });

  it('Grafana reads the mirror with a password from a file, and the reports dashboard queries this data source', () => {
    const { datasources } = parse(read('grafana/datasources/postgres.yaml')) as {
      readonly datasources: readonly { readonly type: string; readonly uid: string }[];
    };
    expect(datasources).toMatchObject([
      {
        url: 'postgres:5432',
        user: 'grafana',
        jsonData: { database: 'musterd' },
        secureJsonData: { password: '$__file{/run/secrets/grafana-database-password}' },
      },
    ]);
    expect(service('grafana').secrets).toContain('grafana-database-password');
    expect(read('compose/database.sql')).toMatch(/^create role grafana login .* in role musterd_reader;$/m);
    const named = [
      ...read('grafana-reports.json').matchAll(/"type": "(grafana-[^"]*)",\s+"uid": "([^"]*)"/g),
    ];
    expect(named.length).toBeGreaterThan(20);
    for (const [, type, uid] of named)
      expect([type, uid]).toEqual([datasources[0]?.type, datasources[0]?.uid]);
  });
});

const hasPsql = spawnSync('psql', ['--version']).status === 0;

/** As the Postgres of the compose file does at its first start. */
describe.skipIf(!hasPsql)('config/compose/database.sql (needs psql)', () => {
  it('creates a role without superuser rights that can run reconcile, and lets Grafana read reports', async () => {
    using folder = temporaryFolder();
    const embedded = await openEmbedded({ dataDir: join(folder.path, 'mirror') });
    const emulator = await createEmulator({ http: true, users: 10, tags: 2, fields: 1, ratePerMinute: 0 });
    try {
      writeFileSync(join(folder.path, 'password'), "it's a $ecret\n");
      const psql = (...args: readonly string[]) =>
        spawnSync('psql', ['--no-psqlrc', '--dbname', embedded.url, ...args], {
          encoding: 'utf8',
          env: {
            PATH: process.env['PATH'] ?? '',
            MUSTERD_PASSWORD_FILE: join(folder.path, 'password'),
            MUSTERD_GRAFANA_PASSWORD_FILE: join(folder.path, 'password'),
          },
        });
      // The embedded server has a musterd already, a superuser.
      const file = join(folder.path, 'database.sql');
      writeFileSync(
        file,
        read('compose/database.sql').replaceAll(/(role|database|owner) musterd\b/g, '$1 ordinary'),
      );
      const made = psql('--file', file);
      expect(made.stderr).toBe('');
      expect(made.status).toBe(0);
      const rights = `select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls from pg_roles where rolname = 'ordinary'`;
      expect(psql('--tuples-only', '--no-align', '--command', rights).stdout).toBe('f\n');
      const url = new URL(embedded.url);
      url.username = 'ordinary';
      url.password = encodeURIComponent("it's a $ecret");
      url.pathname = '/ordinary';
      const environment = { ...emulator.environment, DATABASE_URL: url.href };
      const { code, stdout } = await runMusterd(['reconcile', '--json'], environment);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ outcome: 'complete', counts: { adopted: 10 } });
      const granted = `select has_table_privilege('grafana', 'report.roster', 'select')`;
      url.username = new URL(embedded.url).username;
      url.password = new URL(embedded.url).password;
      const asked = spawnSync('psql', ['--no-psqlrc', '--dbname', url.href, '-Atc', granted], {
        encoding: 'utf8',
      });
      expect(asked.stdout).toBe('t\n');
    } finally {
      await emulator.close();
      await embedded.close();
    }
  });
});
