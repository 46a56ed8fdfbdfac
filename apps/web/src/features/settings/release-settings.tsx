import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { ModelIcon } from '../../ui/icons.tsx';
import { Command } from '../../ui/copying.tsx';
import { EmptyState, FailureNote, ListSkeleton } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
import { Ago } from '../../ui/time.tsx';
import { bytes } from '../../ui/quantities.ts';
import { releaseViews } from '../../entities/registry/registry.ts';

export function ReleaseSettings() {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken, pageSize: 200 }));
  const releases = list.pages && releaseViews(list.pages.flatMap((page) => page.releases));
  return (
    <section className="card" aria-label="Releases">
      <title>Releases · Settings · Platform</title>
      <div className="card-head">
        <h2>Releases</h2>
        <span className="soft small">What agents can install. Machines on a channel get the version it points to.</span>
      </div>
      {list.error && <FailureNote error={list.error} />}
      {releases === undefined && !list.error && <ListSkeleton />}
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
          <th scope="col">Published</th>
          <th scope="col">Details</th>
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
            <td data-label="Published" className="no-wrap">
              <Ago at={release.published} />
            </td>
            <td data-label="Details">
              <details>
                <summary aria-label={`Details of ${release.key}`}>sha256, contents</summary>
                <p className="mono small break">{release.sha256}</p>
                <p className="row">
                  {release.attachments.map(({ label, url }) => (
                    <a key={label} href={url} aria-label={`${label} of ${release.key}`}>
                      {label}
                    </a>
                  ))}
                </p>
              </details>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
