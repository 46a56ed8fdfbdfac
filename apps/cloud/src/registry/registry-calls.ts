import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type AppService,
  type UpdateRegistryItemRequest,
  Visibility,
} from '@platform/contract/gen/platform/app/v1/app_pb';
import { ModelFramework, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { kindOfModelType, modelKind } from '@platform/contract/job/model-kinds';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { type Caller, isReader, memberships, requireOwner } from '../access/rules/permissions.ts';
import { audit } from '../access/store/audit.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { frameworkName } from './model-frameworks.ts';
import { kindOfType, typeOfKind } from './package-kinds.ts';
import { limitingNames, readablePackages, requirePackageReader } from './rules/named-resources.ts';
import { namesFrom } from './store/named-resources.ts';
import { createItem, deleteItem, findItem, type Item, listItems, updateItem } from './store/registry-items.ts';
import { machinesWith, orgOfNamespace, refuseTakenName } from './store/registry.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const visibilities: Readonly<Record<Item['visibility'], Visibility>> = {
  private: Visibility.PRIVATE,
  public: Visibility.PUBLIC,
  public_unlisted: Visibility.PUBLIC_UNLISTED,
};
const visibilityOf = new Map(Object.entries(visibilities).map(([name, value]) => [value, name as Item['visibility']]));

/**
 * The item with the ID `<organization or namespace>:<name>`.
 *
 * @throws PlatformError REGISTRY_ITEM_NOT_FOUND
 */
async function findReadable(db: Database, itemId: string, caller: Caller): Promise<Item> {
  const absent = () => new PlatformError('REGISTRY_ITEM_NOT_FOUND', { itemId });
  const { owner, name } = check.registryItemId('item_id', itemId);
  const orgId = await orgOfNamespace(db, owner);
  const item = orgId === undefined ? undefined : await findItem(db, { orgId, name });
  if (!item) throw absent();
  if (item.visibility === 'private') await requirePackageReader(caller, item, namesFrom(db), absent);
  return item;
}

/** @throws PlatformError REGISTRY_ITEM_NOT_FOUND, NOT_OWNER */
async function findOwned(db: Database, itemId: string, caller: Caller): Promise<Item> {
  const item = await findReadable(db, itemId, caller);
  requireOwner(caller, item.orgId, () => new PlatformError('REGISTRY_ITEM_NOT_FOUND', { itemId }));
  return item;
}

const readCalls = ({ db }: { db: Database }) => {
  const namesOf = namesFrom(db);
  return {
    async getRegistryItem({ itemId }, context) {
      return { item: itemMessage(await findReadable(db, itemId, callerOf(context))) };
    },

    async listRegistryItems(request, context) {
      const caller = callerOf(context);
      const all = [...new Set(memberships(caller).map(({ orgId }) => orgId))].filter((orgId) =>
        isReader(caller, orgId),
      );
      const names = await limitingNames(caller, namesOf);
      const { rows: items, isCut } = await listItems(db, {
        memberOf: caller.kind === 'part' ? [caller.orgId] : all,
        orgId: request.organizationId || undefined,
        types: request.types.flatMap((type) => kindOfType.get(type) ?? []),
        visibilities: request.visibilities.flatMap((one) => visibilityOf.get(one) ?? []),
        namespaces: request.publicNamespaces,
        search: request.searchTerm ?? '',
        named: names?.packages,
      });
      const own = items.filter(({ visibility }) => visibility !== 'public');
      const readable = new Set(readablePackages(caller, own, names));
      const listed = items.filter((item) => item.visibility === 'public' || readable.has(item));
      return { items: listed.map(itemMessage), truncated: isCut };
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

const editCalls = ({ db, clock }: { db: Database; clock: Clock }) => {
  return {
    async createRegistryItem({ organizationId, name, type }, context) {
      const caller = callerOf(context);
      requireOwner(caller, check.filled('organization_id', organizationId));
      const kind = kindOfType.get(type);
      if (!kind) {
        throw invalidArgument('type', type, [...kindOfType.values()].join(', '));
      }
      const key = { orgId: organizationId, name: check.packageName('name', name) };
      await refuseTakenName(db, { ...key, type: kind });
      await createItem(db, { ...key, type: kind, now: clock.wall() });
      await audit(db, { orgId: organizationId, caller, action: 'create registry item', subject: name });
      return {};
    },

    async updateRegistryItem(request, context) {
      const caller = callerOf(context);
      const item = await findOwned(db, request.itemId, caller);
      const visibility = visibilityOf.get(request.visibility) ?? item.visibility;
      if (visibility !== 'private' && request.description === '') {
        throw invalidArgument('description', '', 'public items need one');
      }
      const { description, url } = request;
      const metadata = changedMetadata(item, request.metadata);
      await updateItem(db, item, { description, visibility, url, metadata, now: clock.wall() });
      await audit(db, { orgId: item.orgId, caller, action: 'update registry item', subject: item.name });
      return {};
    },

    async deleteRegistryItem({ itemId }, context) {
      const caller = callerOf(context);
      const item = await findOwned(db, itemId, caller);
      const { count, machine } = await machinesWith(db, item);
      const packageId = `${item.orgId}/${item.name}`;
      if (count > 0) throw new PlatformError('PACKAGE_IN_USE', { packageId, version: 'any', count, machine });
      await deleteItem(db, item, caller);
      return {};
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** AppService's calls on registry items: models, training scripts and other packages. */
export const registryCalls = (deps: { db: Database; clock: Clock }) => ({ ...readCalls(deps), ...editCalls(deps) });

/** The item's metadata with the changes of an update. */
function changedMetadata(item: Item, update: UpdateRegistryItemRequest['metadata']): Item['metadata'] {
  const metadata: { [key: string]: unknown } = { ...item.metadata };
  if (update.case === 'updateMlModelMetadata' || update.case === 'updateMlTrainingMetadata') {
    metadata['model_type'] = kindOfModelType(update.value.modelType) ?? 'unspecified';
    metadata['model_framework'] = frameworkName(update.value.modelFramework);
  }
  if (update.case === 'updateMlTrainingMetadata') metadata['draft'] = update.value.draft;
  return metadata;
}

function itemMessage(item: Item) {
  return {
    itemId: `${item.publicNamespace || item.orgId}:${item.name}`,
    organizationId: item.orgId,
    publicNamespace: item.publicNamespace,
    name: item.name,
    type: typeOfKind.get(item.type) ?? PackageType.UNSPECIFIED,
    visibility: visibilities[item.visibility],
    url: item.url,
    description: item.description,
    metadata: metadataMessage(item),
    createdAt: timeOf(item.createdOn),
    updatedAt: timeOf(item.updatedOn),
  };
}

function metadataMessage(item: Item) {
  const text = (key: string): string => {
    const value = item.metadata[key];
    return typeof value === 'string' ? value : '';
  };
  const model = {
    modelType: modelKind(text('model_type'))?.modelType ?? ModelType.UNSPECIFIED,
    modelFramework:
      Object.values(ModelFramework).find((one) => frameworkName(one) === text('model_framework')) ??
      ModelFramework.UNSPECIFIED,
  };
  const versions = item.versions.map(({ version, createdOn }) => ({ version, createdOn: timeOf(createdOn) }));
  if (item.type === 'ml_model') {
    const value = { ...model, versions: item.versions.map(({ version }) => version), detailedVersions: versions };
    return { case: 'mlModelMetadata' as const, value };
  }
  if (item.type === 'ml_training') {
    return {
      case: 'mlTrainingMetadata' as const,
      value: { ...model, versions, draft: item.metadata['draft'] === true },
    };
  }
  return { case: undefined };
}
