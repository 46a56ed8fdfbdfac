import { readFile, stat } from 'node:fs/promises';
import { ModelFramework, ModelType } from '@platform/client';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { type RegistryItem, Visibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, formatBytes } from '@platform/kit';
import { checkScriptArchive, packScriptFolder } from '@platform/sandbox/archive';
import type { Command, Option } from 'commander';
import { choiceOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { findScript, registryItems } from '../find/registry.ts';
import { printable } from '../output.ts';
import type { CommandWorld } from '../run.ts';
import { frameworks, modelTypes } from './model-words.ts';

const visibilities = {
  private: Visibility.PRIVATE,
  public: Visibility.PUBLIC,
  'public-unlisted': Visibility.PUBLIC_UNLISTED,
} as const;

export const visibilityOption = (): Option =>
  choiceOption('--visibility <who>', 'who can find it; a public one needs a description', visibilities);

/** Metadata of a script version about its models. */
export interface ScriptFlags {
  readonly framework?: ModelFramework;
  readonly modelType?: ModelType;
  readonly scriptUrl?: string;
}
export const scriptFlags = (command: Command): Command =>
  command
    .addOption(choiceOption('--framework <name>', 'of the models that the script trains', frameworks))
    .addOption(choiceOption('--type, --model-type <type>', 'of the models that the script trains', modelTypes))
    .option('--script-url <url>', 'URL of a page about the script');

export interface ScriptUpload extends ScriptFlags {
  readonly name: string;
  /** A folder, or its .tar.gz file. */
  readonly folder: string;
  /** Default: the current time in ms. */
  readonly version?: string;
  readonly draft: boolean;
  readonly description?: string;
  readonly visibility?: Visibility;
}

/** Packs a folder and publishes it as a new version of a script. */
export async function uploadScript(
  { output }: Pick<CommandWorld, 'output'>,
  open: Connection,
  upload: ScriptUpload,
): Promise<{ itemId: string; version: string }> {
  const organizationId = await open.organizationId();
  const before = metadataOf(await ownScript(open, upload.name));
  const { modelType = before?.modelType, framework: modelFramework = before?.modelFramework, visibility } = upload;
  const archive = await archiveOf(upload.folder);
  const version = await open.client.trainingScriptClient.uploadTrainingScript(organizationId, upload.name, archive, {
    draft: upload.draft,
    ...(upload.version !== undefined && { version: upload.version }),
    ...(modelType !== undefined && { modelType }),
    ...(modelFramework !== undefined && { modelFramework }),
  });
  output.text(`Uploaded ${printable(upload.name)} as version ${version} (${formatBytes(archive.length)}).`);
  if (upload.description !== undefined || upload.scriptUrl !== undefined || visibility !== undefined)
    await describe(open, upload.name, upload);
  return { itemId: `${organizationId}:${upload.name}`, version };
}

const metadataOf = (item: RegistryItem | undefined) =>
  item?.metadata.case === 'mlTrainingMetadata' ? item.metadata.value : undefined;

async function ownScript(open: Connection, name: string): Promise<RegistryItem | undefined> {
  return (await registryItems(open, PackageType.ML_TRAINING, { search: name })).find((one) => one.name === name);
}

/** Updates a script's registry entry, except its versions. Omitted fields stay unchanged. */
export async function describe(
  open: Connection,
  name: string,
  to: {
    readonly visibility?: Visibility | undefined;
    readonly description?: string;
    readonly scriptUrl?: string;
    readonly draft?: boolean;
  },
): Promise<RegistryItem> {
  const item = await findScript(open, name);
  const metadata = metadataOf(item);
  await open.client.appClient.updateRegistryItem({
    itemId: item.itemId,
    type: item.type,
    visibility: to.visibility ?? item.visibility,
    description: to.description ?? item.description,
    ...(to.scriptUrl !== undefined && { url: to.scriptUrl }),
    metadata: {
      case: 'updateMlTrainingMetadata',
      value: {
        modelType: metadata?.modelType ?? ModelType.UNSPECIFIED,
        modelFramework: metadata?.modelFramework ?? ModelFramework.UNSPECIFIED,
        draft: to.draft ?? metadata?.draft ?? false,
      },
    },
  });
  return findScript(open, item.itemId);
}

/** The .tar.gz, validated with the server's rules. */
async function archiveOf(place: string): Promise<Uint8Array<ArrayBuffer>> {
  const stats = await stat(place).catch((error: unknown) => {
    throw new PlatformError('INVALID_ARGUMENT', { field: '--path', value: place, limit: errorText(error) }, error);
  });
  if (stats.isDirectory()) return new Uint8Array(await packScriptFolder(place));
  const bytes = await readFile(place);
  await checkScriptArchive([bytes]);
  return new Uint8Array(bytes);
}
