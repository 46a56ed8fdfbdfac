import { useQuery } from '@connectrpc/connect-query';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Command } from '../../../ui/copying.tsx';
import { DownloadIcon, ModelIcon } from '../../../ui/icons.tsx';
import { EmptyState, FailureNote, TruncatedNote, ListSkeleton } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { listScripts, visibilityTexts } from './scripts.ts';
import type { ScriptView } from './scripts.ts';
import { EditItem } from './edit-item.tsx';
import { RegistryTabs } from './registry-tabs.tsx';

const refreshMs = 5000;

/** Training scripts of the organization with their versions. */
export function ScriptsPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
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
      <div className="page-head">
        <div>
          <h1>Registry</h1>
          <p className="soft">Scripts of your own that train models. Each version stays as it is for ever.</p>
        </div>
      </div>
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
  <section className="card" aria-label={script.name}>
    <div className="card-head">
      <h2>{script.name}</h2>
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
    </div>
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
  </section>
);

const VersionTable = ({ script }: { script: ScriptView }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Version</th>
        <th scope="col">Published</th>
        <th scope="col">
          <span className="hidden-text">Package</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {script.versions.map(({ version, created }, at) => (
        <tr key={version}>
          <td className="lead">
            <span className="row">
              <strong className="break">{version}</strong>
              {at === 0 && <span className="badge is-good">latest</span>}
            </span>
          </td>
          <td data-label="Published">
            <Ago at={created} />
          </td>
          <td data-label="">
            <a
              className="button button-small"
              href={`/packages/${script.organizationId}/${encodeURIComponent(script.name)}/${encodeURIComponent(version)}.tar.gz`}
              download={`${script.name}-${version}.tar.gz`}
            >
              <DownloadIcon />
              Download<span className="hidden-text"> version {version}</span>
            </a>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
