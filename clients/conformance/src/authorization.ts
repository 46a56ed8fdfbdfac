import { appApi } from '@viamrobotics/sdk';

/** The authorization that CreateKey expects for a key with a role in an organization, as the public CLI sends it. */
export const createAuthForNewAPIKey = (organizationId: string, role: 'owner' | 'operator'): appApi.Authorization =>
  new appApi.Authorization({
    authorizationType: 'role',
    authorizationId: `organization_${role}`,
    resourceType: 'organization',
    resourceId: organizationId,
    organizationId,
    identityType: 'api-key',
  });
