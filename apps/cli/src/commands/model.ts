import type { JsonObject } from '@bufbuild/protobuf';
import { type RegistryItem, VisibilitySchema } from '@platform/contract/gen/platform/app/v1/app_pb';
import {
  ModelFrameworkSchema,
  ModelTypeSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type Package, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { isObject } from '@platform/contract/text/json-object';
import { systemClock } from '@platform/kit/node';
import { allPages } from '@platform/client';
import type { Command } from 'commander';
import { formatBytes } from '@platform/kit';
import type { Connection } from '../connection.ts';
import { findModel, registryList } from '../find/registry.ts';
import { ago, enumName, enumWord, isoTime, listText, noteTruncated, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { downloadCommand } from './model-download.ts';

const metadataOf = (item: RegistryItem) => (item.metadata.case === 'mlModelMetadata' ? item.metadata.value : undefined);

const modelJson = (item: RegistryItem, newest: string): Record<string, unknown> => ({
  item_id: item.itemId,
  organization_id: item.organizationId,
  name: item.name,
  visibility: enumName(VisibilitySchema, item.visibility),
  description: item.description,
  url: item.url,
  model_type: enumName(ModelTypeSchema, metadataOf(item)?.modelType),
  model_framework: enumName(ModelFrameworkSchema, metadataOf(item)?.modelFramework),
  latest: newest,
  versions: metadataOf(item)?.detailedVersions.length ?? 0,
  updated_on: isoTime(item.updatedAt),
});

/** Versions of a model, newest first. */
async function versionsOf(open: Connection, item: RegistryItem): Promise<Package[]> {
  const of = { organizationId: item.organizationId, name: item.name, type: PackageType.ML_MODEL };
  const packages = await allPages(async (pageToken) => {
    const page = await open.client.packageClient.listPackages({ ...of, pageToken });
    return { rows: page.packages, nextPageToken: page.nextPageToken };
  });
  const at = (one: Package): number => Number(one.createdOn?.seconds ?? 0n) * 1e9 + (one.createdOn?.nanos ?? 0);
  return packages.toSorted((a, b) => at(b) - at(a));
}

const sizeOf = (one: Package): number => (one.info?.files ?? []).reduce((sum, file) => sum + Number(file.size), 0);

const versionJson = (one: Package): Record<string, unknown> => ({
  version: one.info?.version ?? '',
  created_on: isoTime(one.createdOn),
  sha256: one.checksum,
  files: (one.info?.files ?? []).map((file) => ({ name: file.name, size_bytes: Number(file.size) })),
  metadata: one.info?.metadata ?? {},
});

/** Metadata and lineage of a version, as names and values. */
function metadataText(metadata: JsonObject | undefined): [string, string][] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]): [string, string][] => {
    if (typeof value === 'string' || typeof value === 'number') return [[key.replaceAll('_', ' '), String(value)]];
    return key === 'lineage' && isObject(value) ? metadataText(value) : [];
  });
}

export function modelCommands(program: Command, run: Run): void {
  const model = program.command('model').description('trained models of the registry');

  listCommand(model, run);
  versionsCommand(model, run);
  showCommand(model, run);
  downloadCommand(model, run);
}

function listCommand(model: Command, run: Run): void {
  model
    .command('list')
    .description('list models with their newest version')
    .option('--public', 'include public ones of other organizations')
    .action(
      run(async ({ connection, output }, flags: { public?: boolean }) => {
        const of = { isOwn: flags.public !== true };
        const { items, truncated } = await registryList(await connection(), PackageType.ML_MODEL, of);
        const newest = (item: RegistryItem): string => metadataOf(item)?.detailedVersions[0]?.version ?? '';
        output.json(items.map((item) => modelJson(item, newest(item))));
        if (items.length === 0) return output.text('No model yet. Train one: platform train submit --help');
        output.table(
          ['name', 'version', 'versions', 'type', 'framework', 'visibility', 'updated', 'id'],
          items.map((item) => [
            item.name,
            newest(item),
            String(metadataOf(item)?.detailedVersions.length ?? 0),
            enumWord(ModelTypeSchema, metadataOf(item)?.modelType).replace('unspecified', ''),
            enumWord(ModelFrameworkSchema, metadataOf(item)?.modelFramework).replace('unspecified', ''),
            enumWord(VisibilitySchema, item.visibility),
            ago(item.updatedAt, systemClock.wall()),
            item.itemId,
          ]),
        );
        noteTruncated(output, truncated, 'models');
      }),
    );
}

function versionsCommand(model: Command, run: Run): void {
  model
    .command('versions <model>')
    .description('list the versions of a model, newest first')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const versions = await versionsOf(open, await findModel(open, name));
        output.json(versions.map(versionJson));
        output.table(
          ['version', 'created', 'size', 'files', 'sha256'],
          versions.map((one) => [
            one.info?.version ?? '',
            ago(one.createdOn, systemClock.wall()),
            formatBytes(sizeOf(one)),
            String(one.info?.files.length ?? 0),
            one.checksum,
          ]),
        );
      }),
    );
}

function showCommand(model: Command, run: Run): void {
  model
    .command('show <model>')
    .description('show a version: its files and its origin')
    .option('--version <version>', 'version to use', 'latest')
    .action(
      run(async ({ connection, output }, name: string, flags: { version: string }) => {
        const open = await connection();
        const item = await findModel(open, name);
        const { package: found } = await open.client.packageClient.getPackage({
          id: `${item.organizationId}/${item.name}`,
          version: flags.version,
          type: PackageType.ML_MODEL,
        });
        if (!found) throw new PlatformError('PACKAGE_NOT_FOUND', { packageId: name, version: flags.version });
        output.json({ item_id: item.itemId, name: item.name, description: item.description, ...versionJson(found) });
        output.text(
          listText([
            ['model', item.name],
            ['version', found.info?.version ?? ''],
            ['description', item.description],
            ['created', isoTime(found.createdOn)],
            ...metadataText(found.info?.metadata),
            ['sha256', found.checksum],
            ['id', item.itemId],
          ]),
        );
        output.text('');
        output.table(
          ['file', 'size'],
          (found.info?.files ?? []).map((file) => [file.name, formatBytes(Number(file.size))]),
        );
        output.text(
          `\nDownload it: platform model download ${printable(item.name)} --version ${printable(found.info?.version ?? '')}`,
        );
      }),
    );
}
