/** The manifests are held against the schemas of the API, and against the image and the settings that they name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { IServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IService } from 'kubernetes-models/v1/Service';
import { ROOT } from '../support/checkout.ts';
import { loadConfig } from '../support/load-config.ts';

type Validate = ((data: unknown) => boolean) & { readonly errors?: readonly object[] | null };

const schema = async (name: string) => ((await import(name)) as { readonly validate: Validate }).validate;
const ofOperator = 'ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoring';
const schemas: Readonly<Record<string, Validate>> = {
  'apps/v1 Deployment': await schema('kubernetes-models/_schemas/IoK8sApiAppsV1Deployment'),
  'v1 Namespace': await schema('kubernetes-models/_schemas/IoK8sApiCoreV1Namespace'),
  'v1 Service': await schema('kubernetes-models/_schemas/IoK8sApiCoreV1Service'),
  'networking.k8s.io/v1 NetworkPolicy': await schema(
    'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy',
  ),
  'monitoring.coreos.com/v1 ServiceMonitor': await schema(
    // Its package does not export it.
    join(
      ROOT,
      'node_modules/@kubernetes-models/prometheus-operator/_schemas',
      `${ofOperator}V1ServiceMonitor.js`,
    ),
  ),
};

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

interface Kustomization {
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

const folder = join(ROOT, 'config', 'kubernetes');
const read = (name: string) => parse(readFileSync(join(folder, name), 'utf8')) as unknown;
const kustomization = read('kustomization.yaml') as Kustomization;
const manifests = kustomization.resources.map((file) => ({ file, manifest: read(file) as Manifest }));

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not there');
  return value;
}
const ofKind = <T>(kind: string) =>
  found(manifests.find(({ manifest }) => manifest.kind === kind)).manifest as T;

/** The API drops a field that it does not know. The schemas allow it, but they read no field that they do not know either. */
function watchReads(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const places = new Map(Object.keys(value).map((key) => [key, `${path}.${key}`]));
  for (const place of places.values()) unread.add(place);
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, watchReads(each, `${path}.${key}`, unread)]),
  );
  const copy: object = Array.isArray(value) ? Object.values(inner) : inner;
  return new Proxy(copy, {
    get: (target, key) => {
      if (typeof key === 'string') unread.delete(places.get(key) ?? '');
      return Reflect.get(target, key) as unknown;
    },
  });
}

/** @returns what is wrong with it, or unknown to the API */
function flawsOf(manifest: Manifest): readonly unknown[] {
  const validate = found(schemas[`${manifest.apiVersion} ${manifest.kind}`]);
  const unread = new Set<string>();
  if (!validate(watchReads(manifest, '', unread))) return validate.errors ?? ['refused'];
  return [...unread];
}

const deployment = ofKind<IDeployment>('Deployment');
const pod = found(deployment.spec?.template.spec);
const container = found(pod.containers[0]);
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const inDockerfile = (pattern: RegExp) => found(pattern.exec(dockerfile)?.[1]);
const pack = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly files: readonly string[];
};

describe('config/kubernetes', () => {
  it.each(manifests)('$file matches the schema of the Kubernetes API', ({ manifest }) => {
    expect(flawsOf(manifest)).toEqual([]);
  });

  it('a manifest with a value of a wrong type or an unknown field does not match the schema', () => {
    const spoil = (change: object) => flawsOf({ ...(deployment as Manifest), ...change });
    expect(spoil({ spec: { ...deployment.spec, replicas: 'one' } })).toMatchObject([
      { instancePath: '/spec/replicas', keyword: 'type' },
    ]);
    expect(spoil({ spec: { ...deployment.spec, replica: 1 } })).toEqual(['.spec.replica']);
    const monitor = ofKind<Manifest & { readonly spec: object }>('ServiceMonitor');
    const misspelt = {
      ...monitor,
      spec: { ...monitor.spec, endpoints: [{ port: 'status', intervall: '15s' }] },
    };
    expect(flawsOf(misspelt)).toEqual(['.spec.endpoints.0.intervall']);
  });

  it('lists every manifest of the folder in kustomization.yaml, and the npm package contains the folder', () => {
    expect(readdirSync(folder).toSorted()).toEqual(
      [...kustomization.resources, 'kustomization.yaml'].toSorted(),
    );
    expect(kustomization.resources.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    expect(pack.files).toContain('config/kubernetes');
    expect(ofKind<Manifest>('Namespace').metadata.name).toBe(kustomization.namespace);
  });

  it('runs the image of this version as the unprivileged user of the image, with a read-only file system', () => {
    expect(kustomization.images).toMatchObject([{ name: container.image, newTag: pack.version }]);
    const [user, group] = inDockerfile(/^USER (.*)$/m)
      .split(':')
      .map(Number);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, runAsGroup: group });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    const compose = readFileSync(join(ROOT, 'config', 'compose.yaml'), 'utf8');
    expect(compose).toContain(`stop_grace_period: ${pod.terminationGracePeriodSeconds}s`);
    expect(container.resources?.limits).toEqual({ memory: '512Mi' });
    expect(compose).toContain('mem_limit: 512m');
  });

  it('sets only settings that musterd knows', () => {
    const literals = found(kustomization.configMapGenerator[0]).literals.map((line) => line.split('='));
    const settings = Object.fromEntries(literals) as Record<string, string>;
    const source = readFileSync(join(ROOT, 'src', 'config', 'environment.ts'), 'utf8');
    const own = Object.keys(settings).filter((name) => !name.startsWith('MUSTERD__'));
    const names = [...own, ...(container.env ?? []).map(({ name }) => name.replace(/_FILE$/, ''))];
    expect(names.filter((name) => !source.includes(`  ${name}: [`))).toEqual([]);
    expect(loadConfig(undefined, settings).daemon.queue).toBe('postgres');
    expect(pod.enableServiceLinks).toBe(false);
  });

  it('reads passwords from the files of a secret that the manifests name but do not contain', () => {
    expect(manifests.filter(({ manifest }) => manifest.kind === 'Secret')).toEqual([]);
    expect(pod.volumes).toMatchObject([
      { name: 'secrets', secret: { secretName: 'musterd', defaultMode: 0o440 } },
    ]);
    expect(container.volumeMounts).toEqual([
      { name: 'secrets', mountPath: '/run/secrets/musterd', readOnly: true },
    ]);
    const manual = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    for (const { name, value = '' } of container.env ?? []) {
      expect(name).toMatch(/_FILE$/);
      const [, file = ''] = /^\/run\/secrets\/musterd\/(.+)$/.exec(value) ?? [];
      expect(manual).toContain(`--from-file=${file}`);
    }
  });

  it('probes existing paths of the status server, at the port of the image', () => {
    const port = Number(inDockerfile(/^ENV MUSTERD__status__port=(\d+)$/m));
    expect(container.ports).toEqual([{ name: 'status', containerPort: port }]);
    const server = readFileSync(join(ROOT, 'src', 'http', 'server.ts'), 'utf8');
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(found);
    expect(probes.map(({ httpGet }) => httpGet?.path)).toEqual(['/healthz', '/healthz', '/readyz']);
    for (const { httpGet } of probes) {
      expect(server).toContain(`app.get('${httpGet?.path}'`);
      expect(httpGet?.port).toBe('status');
    }
  });

  it('the network policy opens only the port of the status server, and all manifests select pods by the same labels', () => {
    const labels = found(deployment.spec?.template.metadata?.labels);
    const service = ofKind<IService>('Service');
    const policy = ofKind<INetworkPolicy>('NetworkPolicy');
    const monitor = ofKind<IServiceMonitor>('ServiceMonitor');
    expect(deployment.spec?.selector.matchLabels).toEqual(labels);
    expect(service.spec?.selector).toEqual(labels);
    expect(policy.spec?.podSelector).toEqual({ matchLabels: labels });
    expect(monitor.spec?.selector.matchLabels).toEqual(service.metadata?.labels);
    expect(service.spec?.ports).toMatchObject([{ name: 'status', targetPort: 'status' }]);
    expect(monitor.spec?.endpoints).toMatchObject([{ port: 'status' }]);
    expect(policy.spec?.ingress?.map(({ ports }) => ports)).toEqual([[{ port: 'status' }]]);
  });
});
