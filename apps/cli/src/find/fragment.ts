import { PlatformError } from '@platform/contract/errors/errors';
import { isUuid } from '@platform/contract/text/names';
import type { Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Connection } from '../connection.ts';

/** Finds a fragment by its ID or name. @throws PlatformError FRAGMENT_NOT_FOUND */
export async function findFragment(connection: Connection, name: string): Promise<Fragment> {
  const { appClient } = connection.client;
  if (isUuid(name)) {
    const { fragment } = await appClient.getFragment({ id: name });
    if (fragment) return fragment;
  }
  const { fragments } = await appClient.listFragments({ organizationId: await connection.organizationId() });
  const found = fragments.find((one) => one.name === name);
  if (!found) throw new PlatformError('FRAGMENT_NOT_FOUND', { fragmentId: name });
  return found;
}
