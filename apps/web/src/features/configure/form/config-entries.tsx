import { Collapsible } from 'radix-ui';
import { ChevronIcon } from '../../../ui/icons.tsx';
import { isObject } from '@platform/contract/text/json-object';
import { jsonAt, removeValue } from '../config-edit.ts';
import { problemsAt } from './form-rows.ts';
import { isError } from '../config-problems.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { UserText } from '../../../ui/isolated-text.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { EntryFields } from './attribute-fields.tsx';
import type { Form } from './config-field.tsx';
import { useServerSchemas } from '../schema/server-schemas.tsx';

/**
 * The components, services and modules. The machine server's schemas describe their attributes, if it reports any.
 *
 * @param of - `added`: the entry that was just added, which opens.
 */
export function ConfigEntries({ form, added }: { form: Form; added: JsonPath | undefined }) {
  const schemas = useServerSchemas();
  const paths = ['components', 'services', ...(schemas.drawn?.module ? ['modules'] : [])].flatMap((key) => {
    const list = jsonAt(form.config.json, [key]);
    return Array.isArray(list) ? list.flatMap((one, at): JsonPath[] => (isObject(one) ? [[key, at]] : [])) : [];
  });
  if (paths.length === 0) return null;
  return (
    <div className="card" role="group" aria-label="Components and services">
      <div className="card-head">
        <h2>Components and services</h2>
        {schemas.note !== undefined && <p className="soft small">{schemas.note}</p>}
      </div>
      {paths.map((path) => (
        <Entry key={path.join(' ')} form={form} path={path} isAdded={path.join(' ') === added?.join(' ')} />
      ))}
    </div>
  );
}

function Entry({ form, path, isAdded }: { form: Form; path: JsonPath; isAdded: boolean }) {
  const read = (key: string): string => {
    const value = jsonAt(form.config.json, [...path, key]);
    return typeof value === 'string' ? value : '';
  };
  const problems = problemsAt(form.problems, path);
  const wrong = problems.filter((one) => isError(one) || one.isReported).length;
  const name = read('name') || 'unnamed';
  const kind = [read('type') || read('api'), read('model')].filter(Boolean).join(' · ');
  return (
    <Collapsible.Root className="form-entry" defaultOpen={isAdded} role="group" aria-label={isolateText(name)}>
      <div className="form-entry-head">
        <h3>
          <Collapsible.Trigger className="form-group-head">
            <ChevronIcon />
            <span className="break">
              <UserText text={name} />
            </span>{' '}
            <span className="soft small break">{isolateText(kind)}</span>
            {wrong > 0 && <span className="badge is-bad push">{formatCount(wrong, 'problem')}</span>}
          </Collapsible.Trigger>
        </h3>
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => form.onChange(removeValue(form.config.text, path))}
        >
          Remove<span className="hidden-text"> {isolateText(name)}</span>
        </button>
      </div>
      <Collapsible.Content>
        <EntryFields form={form} path={path} />
        {problems
          .filter((one) => one.path.length === path.length)
          .map((one, at) => (
            <p
              key={`${at}`}
              className={isError(one) || one.isReported ? 'form-group-foot field-wrong' : 'form-group-foot field-hint'}
            >
              {one.isReported && 'On the machine: '}
              {one.message} {one.remedy}
            </p>
          ))}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
