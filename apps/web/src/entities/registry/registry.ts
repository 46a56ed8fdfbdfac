import type { Package } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import type { JsonObject } from '@bufbuild/protobuf';
import { msOf } from '../../ui/times.ts';

export interface ModelVersion {
  name: string;
  version: string;
  packageId: string;
  sizeBytes: bigint;
  created: number | undefined;
  origin: ModelOrigin | undefined;
}
export interface Model {
  name: string;
  /** Newest first. */
  versions: readonly ModelVersion[];
}

/** The job, dataset and script that created a version. */
export interface ModelOrigin {
  jobId: string;
  datasetId: string;
  /** "name version", empty for a built-in trainer. */
  script: string;
}

/** Returns undefined for uploaded versions. */
function originOf(metadata: JsonObject | undefined): ModelOrigin | undefined {
  const lineage = metadata?.['lineage'];
  if (typeof lineage !== 'object' || lineage === null || Array.isArray(lineage)) return undefined;
  const text = (key: string): string => (typeof lineage[key] === 'string' ? lineage[key] : '');
  const script = `${text('script_id')} ${text('script_version')}`.trim();
  return text('job_id') === '' ? undefined : { jobId: text('job_id'), datasetId: text('dataset_id'), script };
}

/** Groups versions by model; models are sorted by name. */
export function listModels(packages: readonly Package[]): Model[] {
  const versions = packages.flatMap(({ id, info, createdOn }): ModelVersion[] => {
    if (info === undefined) return [];
    const sizeBytes = info.files.reduce((sum, file) => sum + file.size, 0n);
    return [
      {
        name: info.name,
        version: info.version,
        packageId: id,
        sizeBytes,
        created: msOf(createdOn),
        origin: originOf(info.metadata),
      },
    ];
  });
  const byName = Map.groupBy(versions, ({ name }) => name);
  return [...byName]
    .map(([name, found]) => ({ name, versions: found.toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0)) }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export interface ReleaseView {
  key: string;
  name: string;
  version: string;
  platform: string;
  sha256: string;
  sizeBytes: bigint;
  url: string;
  published: number | undefined;
  channels: readonly string[];
  attachments: readonly { label: string; url: string }[];
}

const attachmentLabels: Readonly<Record<string, string>> = { sbom: 'SBOM', licenses: 'Licenses' };

/** Newest first. */
export const releaseViews = (releases: readonly Release[]): ReleaseView[] =>
  releases
    .map((release) => ({
      key: `${release.name} ${release.version} ${release.platform}`,
      name: release.name,
      version: release.version,
      platform: release.platform,
      sha256: hex(release.sha256),
      sizeBytes: release.sizeBytes,
      url: release.url,
      published: msOf(release.publishedOn),
      channels: release.channels,
      attachments: release.attachments.flatMap(({ kind, url }) => {
        const label = attachmentLabels[kind];
        return label === undefined ? [] : [{ label, url }];
      }),
    }))
    .toSorted((a, b) => (b.published ?? 0) - (a.published ?? 0));
