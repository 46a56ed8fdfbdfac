import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SignOutIcon } from '../../ui/icons.tsx';
import { Card, Pair } from '../../ui/layout.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { usagePairs } from './usage.ts';

/** Who is signed in, and what the organization stores. */
export function OrganizationSettings() {
  const { name, organization, signOut, serverVersion } = useSession();
  return (
    <>
      <title>Settings · Platform</title>
      <Card
        title={organization.organizationName}
        label="You"
        head={
          <button type="button" className="button button-small push" onClick={signOut}>
            <SignOutIcon />
            Sign out
          </button>
        }
      >
        <div className="card-body">
          <dl className="pair-list">
            <Pair name="You">{name}</Pair>
            <Pair name="Role">{organization.role}</Pair>
            <Pair name="Server version">{serverVersion}</Pair>
            <Pair name="Organization ID" isWide className="mono">
              {organization.organizationId}
            </Pair>
          </dl>
        </div>
      </Card>
      <Usage organizationId={organization.organizationId} />
    </>
  );
}

function Usage({ organizationId }: { organizationId: string }) {
  const { data, error } = useQuery(FleetService.method.getUsage, { organizationId });
  return (
    <Card title="Usage" hint="What this organization stores. The limit counts files.">
      {error && <FailureNote error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <div className="card-body">
          <dl className="pair-list">
            {usagePairs(data).map(([name, value]) => (
              <Pair key={name} name={name}>
                {value}
              </Pair>
            ))}
          </dl>
        </div>
      )}
    </Card>
  );
}
