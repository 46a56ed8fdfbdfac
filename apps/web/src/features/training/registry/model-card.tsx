import { useQuery } from '@connectrpc/connect-query';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { Link } from '@tanstack/react-router';
import { CodeBlock } from '../../../ui/copying.tsx';
import { DownloadIcon } from '../../../ui/icons.tsx';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { fileMeaning } from './model-files.ts';
import { bytes } from '../../../ui/quantities.ts';
import { configFor } from './model-use.ts';

const fileText = (name: string, size: Parameters<typeof bytes>[0]): string => {
  const meaning = fileMeaning(name);
  return meaning === undefined ? bytes(size) : `${bytes(size)}: ${meaning}`;
};

interface ModelCardProps {
  modelName: string;
  packageId: string;
  version: string;
  /** The model files contain the score for images unlike anything seen. */
  canReject?: boolean;
}

/** The model version that a job created: its files, and how a machine gets it. */
export function ModelCard({ modelName, packageId, version, canReject = false }: ModelCardProps) {
  const query = useQuery(
    PackageService.method.getPackage,
    { id: packageId, version, includeUrl: true, type: PackageType.ML_MODEL },
    { staleTime: 60_000 },
  );
  const found = query.data?.package;
  const files = found?.info?.files ?? [];
  const config = configFor({ modelName, packageId, version });
  return (
    <Card
      title="Model version"
      label="Model"
      head={
        found?.url && (
          <a className="button button-small push" href={found.url} download={`${modelName}-${version}.tar.gz`}>
            <DownloadIcon />
            Download package
          </a>
        )
      }
    >
      <div className="card-body">
        {query.error && <FailureNote error={query.error} />}
        {files.length > 0 && (
          <ul className="small" aria-label="Files">
            {files.map(({ name, size }) => (
              <li key={name}>
                <UserText text={name} /> <span className="soft">{fileText(name, size)}</span>
              </li>
            ))}
          </ul>
        )}
        <div className="stack-tight">
          <h3>Use it on a machine</h3>
          <p className="soft small">
            Add these entries to the configuration of a <Link to="/machines">machine</Link>, beside <code>agent</code>.
            With the version <code>latest</code> the machine takes over every newer one by itself.
          </p>
          <CodeBlock text={config} label="configuration entries" />
          {canReject && (
            <p className="soft small">
              With <code>&quot;reject_unlike&quot;: true</code> in the attributes, the machine gives none of the labels
              for images unlike anything seen. It recognizes a part of them only.
            </p>
          )}
        </div>
      </div>
    </Card>
  );
}
