import { isObject } from '@platform/contract/text/json-object';
import { typeOf } from '@platform/contract/machine-server/resources';
import { Collapsible } from 'radix-ui';
import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { ChevronIcon } from '../../../ui/icons.tsx';
import { LoadedLater } from '../../../ui/loaded-later.tsx';
import { modelOfEntry } from '../schema/attribute-schemas.ts';
import { jsonAt, removeValue, setValue } from '../config-edit.ts';
import { fieldsOf, fieldsOfValue, problemsAt, stateOf } from './form-rows.ts';
import type { FormField } from './form-rows.ts';
import { entriesOf } from '../config-parts.ts';
import { branches, typesOf } from '../schema/config-schema.ts';
import type { JsonSchema } from '../schema/config-schema.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { formatCount } from '../../../ui/quantities.ts';
import { ConfigField } from './config-field.tsx';
import type { Form } from './config-field.tsx';
import { useServerSchemas } from '../schema/server-schemas.tsx';

/** The fields of a component, a service or a module. */
export function EntryFields({ form, path }: { form: Form; path: JsonPath }) {
  const { drawn } = useServerSchemas();
  const [key] = path;
  const entry = jsonAt(form.config.json, path);
  const of = key === 'modules' ? path : [...path, 'attributes'];
  const model = drawn && isObject(entry) && typeof key === 'string' ? modelOfEntry(drawn, key, entry) : undefined;
  const schema = key === 'modules' ? drawn?.module?.attributes : model?.attributes;
  return (
    <>
      {model?.description && <p className="form-group-help field-hint">{model.description}</p>}
      {key !== 'modules' && <ValueFields form={form} of={path} />}
      {schema === undefined ? (
        <ValueFields form={form} of={of} />
      ) : (
        <SchemaRoot key={`${String(key)} ${model?.type} ${model?.model}`} form={form} root={schema} of={of} />
      )}
    </>
  );
}

/** The single values of an object that no schema describes. */
const ValueFields = ({ form, of, but }: { form: Form; of: JsonPath; but?: ReadonlySet<string> }) =>
  fieldsOfValue(jsonAt(form.config.json, of))
    .filter(({ key }) => but?.has(key) !== true)
    .map((field) => <ConfigField key={field.key} form={form} of={of} field={field} hasEffect={false} />);

function SchemaRoot({ form, root, of }: { form: Form; root: JsonSchema; of: JsonPath }) {
  const [schema, ...others] = useMemo(() => branches(root, root), [root]);
  const value = jsonAt(form.config.json, of);
  if (schema === undefined || others.length > 0 || (value !== undefined && !isObject(value)))
    return <p className="form-group-help field-hint">The attributes have several forms: edit them in the JSON.</p>;
  return <SchemaFields form={form} place={{ root, schema, of, level: 0 }} />;
}

/** An object of the configuration, and the schema that describes it. */
interface Place {
  readonly root: JsonSchema;
  readonly schema: JsonSchema;
  readonly of: JsonPath;
  /** How many objects are around it. */
  readonly level: number;
}

const deepest = 4;
const mostFields = 200;

function SchemaFields({ form, place }: { form: Form; place: Place }) {
  const { root, schema, of } = place;
  const fields = useMemo(() => fieldsOf([schema], root), [schema, root]);
  const keys = useMemo(() => new Set(fields.map(({ key }) => key)), [fields]);
  const inPackages = fields.filter(({ packageType }) => packageType === 'ml_model');
  return (
    <>
      {inPackages.length > 0 && (
        <LoadedLater name="choice of a model" load={() => import('./package-field.tsx')} className="form-row">
          {({ PackageChoice }) => <PackageChoice form={form} of={of} fields={inPackages} />}
        </LoadedLater>
      )}
      {fields.slice(0, mostFields).map((field) => (
        <SchemaField key={field.key} form={form} place={place} field={field} />
      ))}
      {fields.length > mostFields && (
        <p className="form-group-help field-hint">
          {formatCount(fields.length - mostFields, 'more field')}: edit them in the JSON.
        </p>
      )}
      <ValueFields form={form} of={of} but={keys} />
    </>
  );
}

function SchemaField({ form, place, field }: { form: Form; place: Place; field: FormField }) {
  const { root, schema, of, level } = place;
  const state = stateOf(form.config, of, field);
  const isNested = (field.kind === 'object' || field.kind === 'objects') && level < deepest && !state.isForeign;
  if (!isNested) return <ConfigField form={form} of={of} field={namedEntries(form, field)} hasEffect={false} />;
  const own = innerOf(schema.properties?.[field.key], root);
  const path = state.path;
  if (field.kind === 'object')
    return (
      <Nested form={form} field={field} path={path} summary={state.isSet ? 'Set here' : 'Not set'}>
        <SchemaFields form={form} place={{ root, schema: own, of: path, level: level + 1 }} />
      </Nested>
    );
  const count = Array.isArray(state.value) ? state.value.length : 0;
  const item = innerOf(own.items, root);
  return (
    <Nested
      form={form}
      field={field}
      path={path}
      summary={state.isSet ? formatCount(count, 'entry', 'entries') : 'Not set'}
    >
      {Array.from({ length: count }, (_, at) => (
        <ListEntry key={`${at}`} form={form} name={`${field.title} ${at + 1}`} path={[...path, at]}>
          <SchemaFields form={form} place={{ root, schema: item, of: [...path, at], level: level + 1 }} />
        </ListEntry>
      ))}
      <p className="form-group-foot">
        <button
          type="button"
          className="button button-small"
          onClick={() => form.onChange(setValue(form.config.text, [...path, count], '{}'))}
        >
          Add<span className="hidden-text"> to {field.title}</span>
        </button>
      </p>
    </Nested>
  );
}

/** The one form of a value that is not null; the kinds `object` and `objects` have one. */
const innerOf = (schema: JsonSchema | undefined, root: JsonSchema): JsonSchema =>
  branches(schema ?? {}, root).find((one) => !typesOf(one).includes('null') || typesOf(one).length > 1) ?? {};

/** What names another entry of the configuration is chosen among them. */
function namedEntries(form: Form, field: FormField): FormField {
  if (field.reference === undefined || field.kind !== 'text') return field;
  const names = entriesOf(form.config)
    .filter((one) => typeOf(one) === field.reference)
    .flatMap(({ name }) => (typeof name === 'string' && name !== '' ? [name] : []));
  return { ...field, kind: 'choice', values: [...new Set(names)] };
}

interface NestedProps {
  form: Form;
  field: FormField;
  path: JsonPath;
  summary: string;
  children: ReactNode;
}
/** Opened on demand: a schema may refer to itself. */
function Nested({ form, field, path, summary, children }: NestedProps) {
  const isSet = jsonAt(form.config.json, path) !== undefined;
  const wrong = problemsAt(form.problems, path).length;
  return (
    <Collapsible.Root className="form-nested" role="group" aria-label={field.title}>
      <div className="form-entry-head">
        <h4>
          <Collapsible.Trigger className="form-group-head" title={field.key}>
            <ChevronIcon />
            <span className="break">{field.title}</span> <span className="soft small">{summary}</span>
            {wrong > 0 && <span className="badge is-bad push">{formatCount(wrong, 'problem')}</span>}
          </Collapsible.Trigger>
        </h4>
        {isSet && !field.isRequired && (
          <button
            type="button"
            className="button button-quiet button-small"
            onClick={() => form.onChange(removeValue(form.config.text, path))}
          >
            Unset<span className="hidden-text"> {field.title}</span>
          </button>
        )}
      </div>
      <Collapsible.Content className="form-nested-body">
        {field.description && <p className="form-group-help field-hint">{field.description}</p>}
        {children}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

interface ListEntryProps {
  form: Form;
  name: string;
  path: JsonPath;
  children: ReactNode;
}
const ListEntry = ({ form, name, path, children }: ListEntryProps) => (
  <div className="form-nested" role="group" aria-label={name}>
    <div className="form-entry-head">
      <h5 className="form-entry-name">{name}</h5>
      <button
        type="button"
        className="button button-quiet button-small"
        onClick={() => form.onChange(removeValue(form.config.text, path))}
      >
        Remove<span className="hidden-text"> {name}</span>
      </button>
    </div>
    {children}
  </div>
);
