import { PlatformError } from '@platform/contract/errors';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Connection } from '../connection.ts';

/** Models or training scripts of the organization, and public ones of others when asked for. */
export async function registryItems(
  connection: Connection,
  type: PackageType,
  of: { search?: string; isOwn?: boolean } = {},
): Promise<RegistryItem[]> {
  const organizationId = of.isOwn === false ? undefined : await connection.organizationId();
  const { items } = await connection.client.appClient.listRegistryItems({
    types: [type],
    ...(organizationId !== undefined && { organizationId }),
    ...(of.search !== undefined && { searchTerm: of.search }),
  });
  return items;
}

const isNamed = (item: RegistryItem, name: string): boolean => item.itemId === name || item.name === name;

/** A script by its name, or by `<namespace or organization ID>:<name>`. @throws PlatformError SCRIPT_NOT_FOUND. */
export async function findScript(connection: Connection, name: string): Promise<RegistryItem> {
  const absent = new PlatformError('SCRIPT_NOT_FOUND', { registryItemId: name });
  if (name.includes(':')) {
    const { item } = await connection.client.appClient.getRegistryItem({ itemId: name });
    if (item?.type !== PackageType.ML_TRAINING) throw absent;
    return item;
  }
  const item = (await registryItems(connection, PackageType.ML_TRAINING)).find((one) => isNamed(one, name));
  if (!item) throw absent;
  return item;
}

/** A model by its name, or by `<namespace or organization ID>:<name>`. @throws PlatformError REGISTRY_ITEM_NOT_FOUND. */
export async function findModel(connection: Connection, name: string): Promise<RegistryItem> {
  const own = (await registryItems(connection, PackageType.ML_MODEL)).find((one) => isNamed(one, name));
  if (own) return own;
  const absent = new PlatformError('REGISTRY_ITEM_NOT_FOUND', { itemId: name });
  if (!name.includes(':')) throw absent;
  const { item } = await connection.client.appClient.getRegistryItem({ itemId: name });
  if (item?.type !== PackageType.ML_MODEL) throw absent;
  return item;
}
