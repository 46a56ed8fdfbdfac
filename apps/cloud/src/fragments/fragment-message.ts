import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type FragmentSchema, FragmentVisibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { OrganizationRow } from '../access/store/organizations.ts';
import { shownConfig } from '../configs/rules/shown-config.ts';
import type { FragmentRow, FragmentUsage as Usage } from '../configs/store/fragments.ts';

export function fragmentMessage(
  row: FragmentRow,
  organization: Pick<OrganizationRow, 'name' | 'publicNamespace'> | undefined,
  usage: Usage | undefined,
): MessageInitShape<typeof FragmentSchema> {
  const { robotConfig, robotConfigJson } = shownConfig(row);
  return {
    id: row.id,
    name: row.name,
    fragment: robotConfig,
    fragmentJson: robotConfigJson,
    organizationOwner: row.orgId,
    organizationName: organization?.name ?? '',
    publicNamespace: organization?.publicNamespace ?? '',
    public: false,
    visibility: FragmentVisibility.PRIVATE,
    onlyUsedByOwner: true,
    createdOn: timestampFromMs(row.createdOn),
    lastUpdated: timestampFromMs(row.lastUpdated),
    revision: String(row.revision),
    robotPartCount: usage?.parts ?? 0,
    organizationCount: usage ? 1 : 0,
    usedElsewhere: usage?.elsewhere ?? false,
    savedBy: row.savedBy,
    comment: row.comment,
  };
}

export const usageMessage = (fragmentId: string, usage: Usage | undefined) => ({
  fragmentId,
  organizations: usage ? 1 : 0,
  machines: usage?.machines ?? 0,
  machinesInCurrentOrg: usage?.machines ?? 0,
});
