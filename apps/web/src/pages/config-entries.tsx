import { Collapsible } from 'radix-ui';
import { ChevronIcon } from '../parts/icons.tsx';
import { isObject } from '@platform/contract/json-object';
import { jsonAt, removeValue } from '../view/config-edit.ts';
import { fieldsOfValue, problemsAt } from '../view/config-form.ts';
import { isError } from '../view/config-problems.ts';
import type { JsonPath } from '../view/json-path.ts';
import { formatCount } from '../view/quantities.ts';
import { isolateText } from '../view/user-text.ts';
import { ConfigField } from './config-field.tsx';
import type { Form } from './config-field.tsx';

/** The components and services. No schema describes their attributes: those that are single values have an input. */
export function ConfigEntries({ form }: { form: Form }) {
  const paths = ['components', 'services'].flatMap((key) => {
    const list = jsonAt(form.config.json, [key]);
    return Array.isArray(list) ? list.flatMap((one, at): JsonPath[] => (isObject(one) ? [[key, at]] : [])) : [];
  });
  if (paths.length === 0) return null;
  return (
    <div className="card" role="group" aria-label="Components and services">
      <div className="card-head">
        <h2>Components and services</h2>
      </div>
      {paths.map((path) => (
        <Entry key={path.join(' ')} form={form} path={path} />
      ))}
    </div>
  );
}

function Entry({ form, path }: { form: Form; path: JsonPath }) {
  const read = (key: string): string => {
    const value = jsonAt(form.config.json, [...path, key]);
    return typeof value === 'string' ? value : '';
  };
  const attributes = [...path, 'attributes'];
  const found = problemsAt(form.problems, path);
  const wrong = found.filter((one) => isError(one) || one.isReported).length;
  const name = read('name') || 'unnamed';
  const kind = [read('type') || read('api'), read('model')].filter(Boolean).join(' · ');
  return (
    <Collapsible.Root className="form-entry" role="group" aria-label={name}>
      <div className="form-entry-head">
        <h3>
          <Collapsible.Trigger className="form-group-head">
            <ChevronIcon />
            <bdi className="break">{name}</bdi> <span className="soft small break">{isolateText(kind)}</span>
            {wrong > 0 && <span className="badge is-bad push">{formatCount(wrong, 'problem')}</span>}
          </Collapsible.Trigger>
        </h3>
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => form.onChange(removeValue(form.config.text, path))}
        >
          Remove<span className="hidden-text"> {name}</span>
        </button>
      </div>
      <Collapsible.Content>
        {[path, attributes].map((of) =>
          fieldsOfValue(jsonAt(form.config.json, of)).map((field) => (
            <ConfigField key={`${of.length} ${field.key}`} form={form} of={of} field={field} hasEffect={false} />
          )),
        )}
        {found
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
