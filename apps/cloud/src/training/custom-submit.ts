import { PlatformError } from '@platform/contract/errors/errors';
import type { SubmitCustomTrainingJobRequest } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { belongsTo, type Caller } from '../access/rules/permissions.ts';
import { containersOf, noScriptsBecause, capabilitiesLifetimeMs } from './rules/runner-capabilities.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { noteForeignBlob } from '../blobs/store/owned-blobs.ts';
import { findPackage, orgOfNamespace, type Version } from '../registry/store/registry.ts';
import { findItem } from '../registry/store/registry-items.ts';
import { runnersSince } from './store/runners.ts';
import { enqueue, ownImageDataset, refuseTaken, resourcesOf, targetOf, type TrainingDeps } from './training-submit.ts';

/**
 * Queues a job with a training script of the registry: an own script, or a public one of another organization. @returns
 * ID of the job.
 */
export async function submitCustom(
  deps: TrainingDeps,
  request: SubmitCustomTrainingJobRequest,
  caller: Caller,
): Promise<string> {
  const target = targetOf(request, caller);
  const { orgId } = target;
  const { owner, name } = check.registryItemId('registry_item_id', request.registryItemId);
  const wanted = check.shortText('registry_item_version', request.registryItemVersion);
  const settings = check.scriptArguments(request.arguments);
  const named = request.containerId || request.containerVersion;
  const container = named && check.shortText('container_version', named);
  const limits = resourcesOf(request.resources);

  const dataset = await ownImageDataset(deps, target);
  const script = await visibleScript(deps, caller, owner, name, wanted);
  if (!script) {
    throw new PlatformError('SCRIPT_NOT_FOUND', { registryItemId: request.registryItemId, version: wanted });
  }
  await refuseNotOffered(deps, orgId, container);
  await refuseTaken(deps, target);
  const text = (key: string): string => {
    const value = script.metadata[key];
    return typeof value === 'string' ? value : '';
  };
  return enqueue(deps, caller, {
    ...target,
    dataset,
    kind: 'custom',
    framework: text('model_framework') || 'unspecified',
    labels: [],
    arguments: settings,
    limits,
    script: {
      id: request.registryItemId,
      version: script.version,
      sha256: script.packageSha256,
      modelType: text('model_type'),
      container,
    },
    // Permits this organization's runners to read the script, which may belong to another organization.
    also: (trx) => noteForeignBlob(trx, orgId, { sha256: script.packageSha256, sizeBytes: script.sizeBytes }),
  });
}

/** The version that `wanted` names (`latest`: the newest), if the caller may see its script. */
async function visibleScript(
  { db }: TrainingDeps,
  caller: Caller,
  owner: string,
  name: string,
  wanted: string,
): Promise<Version | undefined> {
  const orgId = await orgOfNamespace(db, owner);
  const item = orgId === undefined ? undefined : await findItem(db, { orgId, name });
  if (!item || (item.visibility === 'private' && !belongsTo(caller, item.orgId))) return undefined;
  return findPackage(db, { orgId: item.orgId, name, version: wanted, type: 'ml_training' });
}

/** @throws PlatformError SCRIPTS_NOT_OFFERED, CONTAINER_NOT_FOUND */
async function refuseNotOffered({ db, clock }: TrainingDeps, orgId: string, container: string): Promise<void> {
  const { rows: runners } = await runnersSince(db, [orgId], clock.wall() - capabilitiesLifetimeMs);
  const problem = noScriptsBecause(runners);
  if (problem !== undefined) throw new PlatformError('SCRIPTS_NOT_OFFERED', { problem });
  const known = containersOf(runners);
  if (container === '' || known.has(container)) return;
  throw new PlatformError('CONTAINER_NOT_FOUND', { container, known: [...known.keys()].join(', ') });
}
