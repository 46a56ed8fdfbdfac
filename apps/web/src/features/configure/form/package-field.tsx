import { useQuery } from '@connectrpc/connect-query';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { Link } from '@tanstack/react-router';
import { useId } from 'react';
import { failureOf } from '../../../ui/failures.ts';
import { useSession } from '../../../entities/session/session.tsx';
import type { FormField } from './form-rows.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { chooseModel, modelNameOf, otherUsers, usedPackage } from './package-choice.ts';
import { listModels } from '../../../entities/registry/registry.ts';
import { isolateText } from '../../../ui/user-text.ts';
import type { Form } from './config-field.tsx';

const most = 500;
const latest = 'latest';

interface PackageChoiceProps {
  form: Form;
  /** The attributes. */
  of: JsonPath;
  /** Those that are paths in the package. */
  fields: readonly FormField[];
}

/** The model of a service from the registry; the choice writes the package and the paths in it. */
export function PackageChoice({ form, of, fields }: PackageChoiceProps) {
  const id = useId();
  const { organizationId } = useSession().organization;
  const found = useQuery(
    PackageService.method.listPackages,
    { organizationId, type: PackageType.ML_MODEL, pageSize: most },
    { staleTime: 60_000, retry: false },
  );
  const { config } = form;
  const used = usedPackage(config, of, fields);
  const models = listModels(found.data?.packages ?? []);
  const current = models.find(({ versions }) => versions.some((one) => one.packageId === used?.packageId));
  const versions = current?.versions.map(({ version }) => version) ?? [];
  const shared = used === undefined ? 0 : otherUsers(config, of, used.name);
  const choose = (packageId: string, version: string): void => {
    const text = chooseModel(config, { of, fields }, { modelName: modelNameOf(packageId), packageId, version });
    if (text !== undefined) form.onChange(text);
  };
  return (
    <div className={used === undefined ? 'form-row' : 'form-row is-set'}>
      <div className="form-row-name">
        <label className="label" htmlFor={id}>
          From the registry
        </label>
        <p className="field-hint" id={`${id}-help`}>
          The choice writes the package that the machine downloads, and the files below.{' '}
          {shared > 0 && 'Other services use this package: another version becomes a package of its own. '}
          <Link to="/models" hash={used === undefined ? '' : `model-${modelNameOf(used.packageId)}`}>
            {used === undefined ? 'All models' : `${isolateText(modelNameOf(used.packageId))} in the registry`}
          </Link>
        </p>
        {found.error && <p className="field-hint">The models cannot be listed: {failureOf(found.error).what}</p>}
        {found.data?.nextPageToken && <p className="field-hint">These are the first {most} versions.</p>}
      </div>
      <div className="form-row-input stack-tight">
        <select
          id={id}
          className="select"
          value={used?.packageId ?? ''}
          aria-describedby={`${id}-help`}
          onChange={(event) => event.target.value !== '' && choose(event.target.value, latest)}
        >
          {used === undefined && <option value="">{models.length === 0 ? 'No models' : 'Choose a model …'}</option>}
          {used !== undefined && current === undefined && <option value={used.packageId}>{used.packageId}</option>}
          {models.map(({ name, versions: [newest] }) => (
            <option key={name} value={newest?.packageId ?? ''}>
              {isolateText(name)}
            </option>
          ))}
        </select>
        {used !== undefined && (
          <VersionChoice version={used.version} versions={versions} onChoose={(one) => choose(used.packageId, one)} />
        )}
      </div>
    </div>
  );
}

interface VersionChoiceProps {
  version: string;
  versions: readonly string[];
  onChoose: (version: string) => void;
}
const VersionChoice = ({ version, versions, onChoose }: VersionChoiceProps) => (
  <select
    className="select"
    aria-label="Version of the model"
    value={version}
    onChange={(event) => onChoose(event.target.value)}
  >
    <option value={latest}>latest: each new version by itself</option>
    {[...new Set([version, ...versions])]
      .filter((one) => one !== latest)
      .map((one) => (
        <option key={one} value={one}>
          {isolateText(one)}
        </option>
      ))}
  </select>
);
