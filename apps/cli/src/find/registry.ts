import { PlatformError } from '@platform/contract/errors/errors';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { ListRegistryItemsResponse, RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Connection } from '../connection.ts';

/** Models or training scripts of the organization, and public ones of others on request. */
export async function registryItems(
  connection: Connection,
  type: PackageType,
  of: { search?: string; isOwn?: boolean } = {},
): Promise<RegistryItem[]> {
  return (await registryList(connection, type, of)).items;
}

/** Like registryItems, and reports whether there are more. */
export async function registryList(
  connection: Connection,
  type: PackageType,
  of: { search?: string; isOwn?: boolean } = {},
): Promise<ListRegistryItemsResponse> {
  const organizationId = of.isOwn === false ? undefined : await connection.organizationId();
  return connection.client.appClient.listRegistryItems({
    types: [type],
    ...(organizationId !== undefined && { organizationId }),
    ...(of.search !== undefined && { searchTerm: of.search }),
  });
}

const isNamed = (item: RegistryItem, name: string): boolean => item.itemId === name || item.name === name;

/** The server searches for the name, so that the number of items does not matter. */
const namedItems = async (connection: Connection, type: PackageType, name: string): Promise<RegistryItem[]> =>
  (await registryItems(connection, type, { search: name.slice(name.lastIndexOf(':') + 1) })).filter((one) =>
    isNamed(one, name),
  );

/**
 * Finds a script by its name, or by `<namespace or organization ID>:<name>`. @throws PlatformError SCRIPT_NOT_FOUND.
 */
export async function findScript(connection: Connection, name: string): Promise<RegistryItem> {
  const absent = new PlatformError('SCRIPT_NOT_FOUND', { registryItemId: name });
  if (name.includes(':')) {
    const { item } = await connection.client.appClient.getRegistryItem({ itemId: name });
    if (item?.type !== PackageType.ML_TRAINING) throw absent;
    return item;
  }
  const item = (await namedItems(connection, PackageType.ML_TRAINING, name))[0];
  if (!item) throw absent;
  return item;
}

/**
 * Finds a model by its name, or by `<namespace or organization ID>:<name>`. @throws PlatformError
 * REGISTRY_ITEM_NOT_FOUND.
 */
export async function findModel(connection: Connection, name: string): Promise<RegistryItem> {
  const own = (await namedItems(connection, PackageType.ML_MODEL, name))[0];
  if (own) return own;
  const absent = new PlatformError('REGISTRY_ITEM_NOT_FOUND', { itemId: name });
  if (!name.includes(':')) throw absent;
  const { item } = await connection.client.appClient.getRegistryItem({ itemId: name });
  if (item?.type !== PackageType.ML_MODEL) throw absent;
  return item;
}
