/** Manifests for one attempt: a Secret with the order, and a Job that runs it once. */
import type { EngineJob } from '../engine.ts';

export interface ManifestSettings {
  readonly image: string;
  /** Additional arguments of the program. */
  readonly flags: readonly string[];
  readonly cpus: number;
  /** Memory of the program that runs the trainer. */
  readonly extraMemoryMib: number;
  /** Time that the program needs before and after the training. */
  readonly extraSeconds: number;
  /** Time between TERM and KILL. */
  readonly graceSeconds: number;
  /** Merged into the pod: node selector, tolerations, pull secrets, service account, priority. */
  readonly pod: Readonly<Record<string, unknown>>;
}
type Fields = Record<string, unknown>;

/** How long a finished Job stays for inspection. */
const keptSeconds = 86_400;
const orderFolder = '/var/run/platform';
const workFolder = '/work';

/** Kubernetes limits names to 63 lower-case letters, digits and `-`. */
export const nameOf = (key: string): string =>
  key
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');

const labelsOf = ({ key }: EngineJob): Fields => ({
  'app.kubernetes.io/name': 'platform-attempt',
  'app.kubernetes.io/managed-by': 'platform-runner',
  'platform/attempt': nameOf(key),
});

export const secretManifest = (job: EngineJob): Fields => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: nameOf(job.key), labels: labelsOf(job) },
  type: 'Opaque',
  stringData: { 'order.json': job.order },
});

/** Makes the Job own the order's Secret: Kubernetes deletes both together. */
export const ownerPatch = (name: string, uid: string): Fields => ({
  metadata: { ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid }] },
});

const attemptContainer = ({ image, flags }: ManifestSettings, amounts: Fields): Fields => ({
  name: 'attempt',
  image,
  args: ['attempt', '--order', `${orderFolder}/order.json`, '--folder', workFolder, ...flags],
  env: [{ name: 'HOME', value: workFolder }],
  resources: { requests: amounts, limits: amounts },
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  terminationMessagePolicy: 'FallbackToLogsOnError',
  volumeMounts: [
    { name: 'order', mountPath: orderFolder, readOnly: true },
    { name: 'work', mountPath: workFolder },
  ],
});

export function jobManifest(job: EngineJob, settings: ManifestSettings): Fields {
  const { limits } = job;
  const name = nameOf(job.key);
  const amounts = {
    cpu: String(settings.cpus),
    memory: `${limits.memory_mib + settings.extraMemoryMib}Mi`,
    // Images, the work folder and what the program writes.
    'ephemeral-storage': `${limits.disk_mib * 2 + 1024}Mi`,
    ...((limits.gpus ?? 0) > 0 ? { 'nvidia.com/gpu': String(limits.gpus) } : {}),
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, labels: labelsOf(job), annotations: { 'platform/about': job.about } },
    spec: {
      // One run per attempt: the server's queue decides about retries.
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      podReplacementPolicy: 'Failed',
      ttlSecondsAfterFinished: keptSeconds,
      template: {
        metadata: { labels: labelsOf(job) },
        spec: {
          restartPolicy: 'Never',
          // This deadline starts on the node; the Job's own deadline would include the time in the queue.
          activeDeadlineSeconds: limits.wall_seconds + settings.extraSeconds,
          terminationGracePeriodSeconds: settings.graceSeconds,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            fsGroup: 65_532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          volumes: [
            { name: 'order', secret: { secretName: name, defaultMode: 0o440 } },
            { name: 'work', emptyDir: { sizeLimit: amounts['ephemeral-storage'] } },
          ],
          ...settings.pod,
          containers: [attemptContainer(settings, amounts)],
        },
      },
    },
  };
}
