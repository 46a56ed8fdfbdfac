import { readFile, stat } from 'node:fs/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors';
import {
  ModelFrameworkSchema,
  ModelTypeSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import {
  type CreatePackageRequestSchema,
  PackageService,
  PackageType,
} from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { errorText } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { checkScriptArchive, packScriptFolder } from '@platform/sandbox/archive';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { registryItems } from '../find/registry.ts';
import { enumName, printable, sizeText } from '../output.ts';
import type { CommandWorld } from '../run.ts';
import { choice } from '../values.ts';

/** What a version of a script says about the models it makes. */
export interface ScriptFlags {
  readonly framework?: string;
  readonly modelType?: string;
  readonly scriptUrl?: string;
}
const frameworkNames = Object.fromEntries(
  ['unspecified', 'tflite', 'tensorflow', 'pytorch', 'onnx'].map((name) => [name, name]),
);
const typeNames: Readonly<Record<string, string>> = {
  unspecified: 'unspecified',
  'single-label': 'single_label_classification',
  'multi-label': 'multi_label_classification',
  'object-detection': 'object_detection',
  'single-label-classification': 'single_label_classification',
  'multi-label-classification': 'multi_label_classification',
};

export const scriptFlags = (command: Command): Command =>
  command
    .option('--framework <name>', 'of the models it makes: tflite, tensorflow, pytorch, onnx')
    .option('--type, --model-type <type>', 'of the models it makes: single-label, multi-label, object-detection')
    .option('--script-url <url>', 'page about the script');

export interface ScriptUpload extends ScriptFlags {
  readonly name: string;
  /** A folder, or a .tar.gz file of one. */
  readonly folder: string;
  /** Default: the time in ms. */
  readonly version?: string;
  readonly draft: boolean;
  readonly visibility?: string;
}

const pieceBytes = 64 * 1024;

/** Packs a folder and publishes it as a new version of a script. */
export async function uploadScript(
  { output }: Pick<CommandWorld, 'output'>,
  open: Connection,
  upload: ScriptUpload,
): Promise<{ itemId: string; version: string }> {
  const before = await whatWasSaid(open, upload.name);
  const metadata: JsonObject = {
    model_type: choice('--type', upload.modelType ?? before.modelType, typeNames),
    model_framework: choice('--framework', upload.framework ?? before.framework, frameworkNames),
    draft: upload.draft,
    visibility: choice('--visibility', upload.visibility ?? 'private', { private: 'private', public: 'public' }),
    ...(upload.scriptUrl !== undefined && { url: upload.scriptUrl }),
  };
  const organizationId = await open.organizationId();
  const archive = await archiveOf(upload.folder);
  const info = {
    organizationId,
    name: upload.name,
    version: upload.version ?? String(systemClock.wall()),
    type: PackageType.ML_TRAINING,
    metadata,
  };
  async function* messages(): AsyncGenerator<MessageInitShape<typeof CreatePackageRequestSchema>> {
    yield { package: { case: 'info', value: info } };
    for (let at = 0; at < archive.length; at += pieceBytes)
      yield { package: { case: 'contents', value: archive.subarray(at, at + pieceBytes) } };
  }
  const { version } = await open.rpc(PackageService).createPackage(messages());
  output.text(`Uploaded ${printable(upload.name)} as version ${version} (${sizeText(archive.length)}).`);
  return { itemId: `${organizationId}:${upload.name}`, version };
}

/** What the versions before say about their models, for a version that says nothing. */
async function whatWasSaid(open: Connection, name: string): Promise<{ modelType: string; framework: string }> {
  const items = await registryItems(open, PackageType.ML_TRAINING);
  const { metadata } = items.find((one) => one.name === name) ?? {};
  const value = metadata?.case === 'mlTrainingMetadata' ? metadata.value : undefined;
  return {
    modelType: enumName(ModelTypeSchema, value?.modelType) || 'unspecified',
    framework: enumName(ModelFrameworkSchema, value?.modelFramework) || 'unspecified',
  };
}

/** The .tar.gz, checked here as the server will check it. */
async function archiveOf(place: string): Promise<Uint8Array> {
  const found = await stat(place).catch((error: unknown) => {
    throw new PlatformError('INVALID_ARGUMENT', { field: '--path', value: place, limit: errorText(error) }, error);
  });
  if (found.isDirectory()) return packScriptFolder(place);
  const bytes = await readFile(place);
  await checkScriptArchive([bytes]);
  return bytes;
}
