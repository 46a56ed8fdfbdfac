import { PlatformError } from '@platform/contract/errors/errors';
import {
  ModelFrameworkSchema,
  ModelTypeSchema,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { type RegistryItem, type Visibility, VisibilitySchema } from '@platform/contract/gen/platform/app/v1/app_pb';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { registryList } from '../find/registry.ts';
import { ago, enumName, enumWord, isoTime, noteTruncated, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { testLocalCommand } from './test-local.ts';
import { describe, type ScriptFlags, scriptFlags, uploadScript, visibilityOption } from './training-script-upload.ts';

/** Versions of a script, newest first. */
const versionsOf = (item: RegistryItem) =>
  item.metadata.case === 'mlTrainingMetadata' ? item.metadata.value.versions : [];

function scriptJson(item: RegistryItem): Record<string, unknown> {
  const metadata = item.metadata.case === 'mlTrainingMetadata' ? item.metadata.value : undefined;
  return {
    item_id: item.itemId,
    organization_id: item.organizationId,
    name: item.name,
    visibility: enumName(VisibilitySchema, item.visibility),
    description: item.description,
    url: item.url,
    draft: metadata?.draft ?? false,
    model_type: enumName(ModelTypeSchema, metadata?.modelType),
    model_framework: enumName(ModelFrameworkSchema, metadata?.modelFramework),
    versions: versionsOf(item).map((one) => ({ version: one.version, created_on: isoTime(one.createdOn) })),
    updated_on: isoTime(item.updatedAt),
  };
}

export function trainingScriptCommands(program: Command, run: Run): void {
  const script = program.command('training-script').description('training scripts of the registry');

  scriptFlags(script.command('upload'))
    .description('upload a folder or its .tar.gz as a new version of a script')
    .requiredOption('--path <folder>', 'folder with setup.py or pyproject.toml and model/training.py, or its .tar.gz')
    .requiredOption('--script-name, --name <name>', 'name of the script')
    .option('--version <version>', 'version of the script; default: the time in ms since 1970')
    .option('--draft', 'mark it as a draft')
    .option('--description <text>', 'description')
    .addOption(visibilityOption())
    .action(
      run(
        async (
          world,
          flags: ScriptFlags & {
            path: string;
            name: string;
            version?: string;
            draft?: boolean;
            description?: string;
            visibility?: Visibility;
          },
        ) => {
          const open = await world.connection();
          const uploaded = await uploadScript(world, open, {
            ...flags,
            folder: flags.path,
            draft: flags.draft === true,
          });
          world.output.json({ item_id: uploaded.itemId, version: uploaded.version });
          world.output.text(
            `Run it: platform train submit-custom --script ${printable(flags.name)} --dataset … --model-name …`,
          );
        },
      ),
    );

  listCommand(script, run);
  updateCommand(script, run);
  testLocalCommand(script, run);
}

function listCommand(script: Command, run: Run): void {
  script
    .command('list')
    .description('list the scripts of the organization')
    .option('--public', 'include public ones of other organizations')
    .action(
      run(async ({ connection, output }, flags: { public?: boolean }) => {
        const of = { isOwn: flags.public !== true };
        const { items, truncated } = await registryList(await connection(), PackageType.ML_TRAINING, of);
        output.json(items.map(scriptJson));
        if (items.length === 0)
          return output.text('No training script yet. Upload one: platform training-script upload --help');
        output.table(
          ['name', 'version', 'versions', 'visibility', 'framework', 'updated', 'id'],
          items.map((item) => {
            const json = scriptJson(item);
            const versions = versionsOf(item);
            return [
              item.name + (json['draft'] === true ? ' (draft)' : ''),
              versions[0]?.version ?? '',
              String(versions.length),
              enumWord(VisibilitySchema, item.visibility),
              String(json['model_framework']).replace('unspecified', ''),
              ago(item.updatedAt, systemClock.wall()),
              item.itemId,
            ];
          }),
        );
        noteTruncated(output, truncated, 'scripts');
      }),
    );
}

function updateCommand(script: Command, run: Run): void {
  script
    .command('update <script>')
    .description('change the description of a script in the registry')
    .addOption(visibilityOption())
    .option('--description <text>', 'description')
    .option('--script-url <url>', 'URL of a page about the script')
    .option('--draft', 'mark it as a draft')
    .option('--no-draft', 'mark it as finished')
    .action(
      run(
        async (
          { connection, output },
          name: string,
          flags: { visibility?: Visibility; description?: string; scriptUrl?: string; draft?: boolean },
        ) => {
          if (Object.values(flags).every((one) => one === undefined))
            throw new PlatformError('INVALID_ARGUMENT', {
              field: 'update',
              limit: 'give something to change, see --help',
            });
          const { description, scriptUrl, draft, visibility } = flags;
          const after = await describe(await connection(), name, {
            visibility,
            ...(description !== undefined && { description }),
            ...(scriptUrl !== undefined && { scriptUrl }),
            ...(draft !== undefined && { draft }),
          });
          output.json(scriptJson(after));
          output.text(`Updated ${printable(after.name)}: ${enumWord(VisibilitySchema, after.visibility)}.`);
        },
      ),
    );
}
