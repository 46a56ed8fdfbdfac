import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { ModelIcon } from '../../ui/icons.tsx';
import { Command } from '../../ui/copying.tsx';
import { Card } from '../../ui/layout.tsx';
import { EmptyState, FailureNote } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
import { type Columns, ListTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { bytes } from '../../ui/quantities.ts';
import { type ReleaseView, releaseViews } from '../../entities/registry/registry.ts';

export function ReleaseSettings() {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken, pageSize: 200 }));
  const releases = list.pages && releaseViews(list.pages.flatMap((page) => page.releases));
  return (
    <Card title="Releases" hint="What agents can install. Machines on a channel get the version it points to.">
      <title>Releases · Settings · Platform</title>
      {list.error && <FailureNote error={list.error} />}
      <ListTable
        rows={releases}
        error={list.error}
        empty={
          <EmptyState icon={<ModelIcon />} title="No releases yet">
            <p>Build the machine server into one file; the next start publishes it:</p>
            <Command text="npm run release:server" />
          </EmptyState>
        }
        keyOf={({ key }) => key}
        columns={columns}
      />
      <ShowMore list={list} text="Show more releases" />
    </Card>
  );
}

const columns: Columns<ReleaseView> = [
  { title: 'Program', cell: ({ name }) => name },
  { title: 'Version', cell: ({ url, version }) => <a href={url}>{version}</a> },
  { title: 'Platform', cell: ({ platform }) => platform },
  {
    title: 'Channels',
    cell: ({ channels }) => (
      <span className="row">
        {channels.map((channel) => (
          <span key={channel} className="badge is-good">
            {channel}
          </span>
        ))}
      </span>
    ),
  },
  { title: 'Size', isNumber: true, className: 'no-wrap', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: 'Published', className: 'no-wrap', cell: ({ published }) => <Ago at={published} /> },
  {
    title: 'Details',
    cell: ({ key, sha256, attachments }) => (
      <details>
        <summary aria-label={`Details of ${key}`}>sha256, contents</summary>
        <p className="mono small break">{sha256}</p>
        <p className="row">
          {attachments.map(({ label, url }) => (
            <a key={label} href={url} aria-label={`${label} of ${key}`}>
              {label}
            </a>
          ))}
        </p>
      </details>
    ),
  },
];
