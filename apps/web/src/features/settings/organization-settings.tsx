import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SignOutIcon } from '../../ui/icons.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { usagePairs } from './usage.ts';

/** Who is signed in, and what the organization stores. */
export function OrganizationSettings() {
  const { name, organization, signOut, serverVersion } = useSession();
  return (
    <>
      <title>Settings · Platform</title>
      <section className="card" aria-label="You">
        <div className="card-head">
          <h2>{organization.organizationName}</h2>
          <button type="button" className="button button-small push" onClick={signOut}>
            <SignOutIcon />
            Sign out
          </button>
        </div>
        <div className="card-body">
          <dl className="pair-list">
            <div>
              <dt>You</dt>
              <dd>{name}</dd>
            </div>
            <div>
              <dt>Role</dt>
              <dd>{organization.role}</dd>
            </div>
            <div>
              <dt>Server version</dt>
              <dd>{serverVersion}</dd>
            </div>
            <div className="wide">
              <dt>Organization ID</dt>
              <dd className="mono">{organization.organizationId}</dd>
            </div>
          </dl>
        </div>
      </section>
      <Usage organizationId={organization.organizationId} />
    </>
  );
}

function Usage({ organizationId }: { organizationId: string }) {
  const { data, error } = useQuery(FleetService.method.getUsage, { organizationId });
  return (
    <section className="card" aria-label="Usage">
      <div className="card-head">
        <h2>Usage</h2>
        <span className="soft small">What this organization stores. The limit counts files.</span>
      </div>
      {error && <FailureNote error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <div className="card-body">
          <dl className="pair-list">
            {usagePairs(data).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </section>
  );
}
