import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { ModelIcon, SignOutIcon } from '../parts/icons.tsx';
import { Command } from '../parts/copying.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { ShowMore, usePagedList } from '../parts/paged-list.tsx';
import { Ago } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { bytes } from '../view/quantities.ts';
import { releaseViews } from '../view/registry.ts';
import { usagePairs } from '../view/usage.ts';
import { ApiKeys } from './api-keys.tsx';
import { ServerCard } from './server-card.tsx';

export function SettingsPage() {
  const { name, organization, signOut, serverVersion } = useSession();
  return (
    <div className="page">
      <title>Settings · Platform</title>
      <h1>Settings</h1>
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
      <ApiKeys />
      <ServerCard version={serverVersion} />
      <Releases />
    </div>
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

function Releases() {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken, pageSize: 200 }));
  const releases = list.pages && releaseViews(list.pages.flatMap((page) => page.releases));
  return (
    <section className="card" aria-label="Releases">
      <div className="card-head">
        <h2>Releases</h2>
        <span className="soft small">What agents can install. Machines on a channel get the version it points to.</span>
      </div>
      {list.error && <FailureNote error={list.error} />}
      {releases === undefined && !list.error && <Loading />}
      {releases?.length === 0 && (
        <EmptyState icon={<ModelIcon />} title="No releases yet">
          <p>Build the machine server into one file; the next start publishes it:</p>
          <Command text="npm run release:server" />
        </EmptyState>
      )}
      {releases && releases.length > 0 && <ReleaseTable releases={releases} />}
      <ShowMore list={list} text="Show more releases" />
    </section>
  );
}

function ReleaseTable({ releases }: { releases: ReturnType<typeof releaseViews> }) {
  return (
    <table className="table table-cards">
      <thead>
        <tr>
          <th scope="col">Program</th>
          <th scope="col">Version</th>
          <th scope="col">Platform</th>
          <th scope="col">Channels</th>
          <th scope="col" className="number">
            Size
          </th>
          <th scope="col">sha256</th>
          <th scope="col">Published</th>
          <th scope="col">Contents</th>
        </tr>
      </thead>
      <tbody>
        {releases.map((release) => (
          <tr key={release.key}>
            <td className="lead">{release.name}</td>
            <td data-label="Version">
              <a href={release.url}>{release.version}</a>
            </td>
            <td data-label="Platform">{release.platform}</td>
            <td data-label="Channels">
              <span className="row">
                {release.channels.map((channel) => (
                  <span key={channel} className="badge is-good">
                    {channel}
                  </span>
                ))}
              </span>
            </td>
            <td data-label="Size" className="number no-wrap">
              {bytes(release.sizeBytes)}
            </td>
            <td data-label="sha256" className="mono" title={release.sha256}>
              {release.sha256.slice(0, 12)}
            </td>
            <td data-label="Published" className="no-wrap">
              <Ago at={release.published} />
            </td>
            <td data-label="Contents">
              <span className="row">
                {release.attachments.map(({ label, url }) => (
                  <a key={label} href={url} aria-label={`${label} of ${release.key}`}>
                    {label}
                  </a>
                ))}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
