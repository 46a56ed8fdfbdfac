import { useQuery } from '@connectrpc/connect-query';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Command } from '../../../ui/copying.tsx';
import { DownloadIcon, ModelIcon } from '../../../ui/icons.tsx';
import { Card, PageHead } from '../../../ui/layout.tsx';
import { EmptyState, FailureNote, TruncatedNote, ListSkeleton } from '../../../ui/messages.tsx';
import { Table } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { listScripts, visibilityTexts } from './scripts.ts';
import type { ScriptView } from './scripts.ts';
import { EditItem } from './edit-item.tsx';
import { RegistryTabs, VersionName } from './registry-tabs.tsx';

const refreshMs = 5000;

/** Training scripts of the organization with their versions. */
export function ScriptsPage() {
  const { organizationId } = useSession().organization;
  const list = useQuery(
    AppService.method.listRegistryItems,
    { organizationId, types: [PackageType.ML_TRAINING] },
    { refetchInterval: refreshMs },
  );
  const [edited, setEdited] = useState<RegistryItem>();
  const items = list.data?.items;
  const scripts = items && listScripts(items);
  const close = (): void => {
    setEdited(undefined);
    void list.refetch();
  };
  return (
    <div className="page">
      <title>Training scripts · Platform</title>
      <PageHead title="Registry" lead="Scripts of your own that train models. Each version stays as it is for ever." />
      <RegistryTabs />
      {list.error && <FailureNote error={list.error} />}
      {scripts === undefined && !list.error && <ListSkeleton rows={4} isCard />}
      <TruncatedNote isTruncated={list.data?.truncated} what="scripts" />
      {scripts?.length === 0 && (
        <div className="card">
          <EmptyState icon={<ModelIcon />} title="No training scripts yet">
            <p>A script is a Python project with model/training.py. Upload its folder:</p>
            <Command text="npm run -s platform -- training-script upload --path FOLDER --name NAME" />
          </EmptyState>
        </div>
      )}
      {scripts?.map((script) => (
        <ScriptCard
          key={script.itemId}
          script={script}
          onEdit={() => setEdited(items?.find((item) => item.itemId === script.itemId))}
        />
      ))}
      {edited && <EditItem item={edited} onClose={close} />}
    </div>
  );
}

const ScriptCard = ({ script, onEdit }: { script: ScriptView; onEdit: () => void }) => (
  <Card
    title={script.name}
    head={
      <>
        <span className="badge">{visibilityTexts[script.visibility]}</span>
        {script.isDraft && <span className="badge is-warn">draft</span>}
        <span className="soft small">{formatCount(script.versions.length, 'version')}</span>
        <span className="row push">
          <button type="button" className="button button-small" onClick={onEdit}>
            Edit<span className="hidden-text"> {script.name}</span>
          </button>
          {script.versions.length > 0 && (
            <Link to="/training/new" search={{ script: script.itemId }} className="button button-small">
              Train with it
            </Link>
          )}
        </span>
      </>
    }
  >
    {(script.description || script.url) && (
      <p className="card-body">
        <span>
          {script.description}{' '}
          {/^https?:\/\//.test(script.url) && (
            <a href={script.url} rel="noreferrer">
              {script.url}
            </a>
          )}
        </span>
      </p>
    )}
    <VersionTable script={script} />
  </Card>
);

const VersionTable = ({ script }: { script: ScriptView }) => (
  <Table
    rows={script.versions}
    keyOf={({ version }) => version}
    columns={[
      { title: 'Version', cell: ({ version }, at) => <VersionName version={version} isLatest={at === 0} /> },
      { title: 'Published', cell: ({ created }) => <Ago at={created} /> },
      {
        title: 'Package',
        isHidden: true,
        cell: ({ version }) => (
          <a
            className="button button-small"
            href={`/packages/${script.organizationId}/${encodeURIComponent(script.name)}/${encodeURIComponent(version)}.tar.gz`}
            download={`${script.name}-${version}.tar.gz`}
          >
            <DownloadIcon />
            Download<span className="hidden-text"> version {version}</span>
          </a>
        ),
      },
    ]}
  />
);
