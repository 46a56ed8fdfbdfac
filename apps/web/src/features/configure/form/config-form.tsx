import { Collapsible } from 'radix-ui';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { DefaultSource, useDeviceDefault } from './default-source.tsx';
import { ChevronIcon } from '../../../ui/icons.tsx';
import { jsonAt, readConfigText, removeValue } from '../config-edit.ts';
import { addEntry, countSet, effectAt, entriesAt, fieldsAt, helpAt, problemsAt, titleAt } from './form-rows.ts';
import { isError } from '../config-problems.ts';
import type { ConfigProblem } from '../config-problems.ts';
import type { JsonSchema } from '../schema/config-schema.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { formatCount } from '../../../ui/quantities.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { ConfigAdd } from './config-add.tsx';
import { ConfigEntries } from './config-entries.tsx';
import { ConfigField } from './config-field.tsx';
import { ConfigFragments, FieldSource, useFragmentValue, useGroupSummary } from './config-fragments.tsx';
import type { Form } from './config-field.tsx';
import { MaintenanceWindows } from './window-fields.tsx';
import { VersionInput, versionPrograms } from './version-menus.tsx';

interface ConfigFormProps {
  draft: string;
  /** False: the text is not JSON, so the form shows its last valid state and takes no input. */
  isJson: boolean;
  schema: JsonSchema;
  problems: readonly ConfigProblem[];
  platform: string;
  onChange: (draft: string) => void;
  /** After the draft has what was added. */
  onShow: (path: JsonPath) => void;
}

/** The configuration as a form. It edits the text in the editor, and is saved with it. */
export function ConfigForm({ draft, isJson, schema, problems, platform, onChange, onShow }: ConfigFormProps) {
  const [valid, setValid] = useState(() => readConfigText(isJson ? draft : '{}'));
  const isNew = isJson && valid.text !== draft;
  const config = isNew ? readConfigText(draft) : valid;
  if (isNew) setValid(config);
  const [added, setAdded] = useState<JsonPath>();
  const form: Form = { config, schema, problems, onChange };
  return (
    <fieldset className="plain-fieldset stack" disabled={!isJson} aria-label="Fields of the configuration">
      <ConfigAdd
        config={config}
        isDisabled={!isJson}
        onAdd={({ text, path }) => {
          onChange(text);
          setAdded(path);
          onShow(path);
        }}
      />
      <ConfigFragments draft={draft} isDisabled={!isJson} onChange={onChange} />
      <ConfigEntries form={form} added={added} />
      <div className="card" role="group" aria-label="Agent">
        <div className="card-head">
          <h2>{titleAt(schema, ['agent'])}</h2>
          <span className="soft small">
            {isJson
              ? 'Form and JSON are two views of one text.'
              : 'The JSON is not valid: this is its last valid state.'}
          </span>
        </div>
        <VersionGroup form={form} platform={platform} />
        <Group form={form} path={['agent', 'network_configuration']} />
        <Networks form={form} />
        <Group form={form} path={['agent', 'advanced_settings']} />
        <Group form={form} path={['agent', 'system_configuration']} />
      </div>
      <MaintenanceWindows config={config} onChange={onChange} />
    </fieldset>
  );
}

interface GroupFrameProps {
  form: Form;
  path: JsonPath;
  /** How much of the group is set. */
  summary: string;
  isOpen: boolean;
  children: ReactNode;
}
function GroupFrame({ form, path, summary, isOpen, children }: GroupFrameProps) {
  const [open, setOpen] = useState(isOpen);
  const wrong = problemsAt(form.problems, path).filter(isError).length;
  const title = titleAt(form.schema, path);
  const effect = effectAt(form.schema, path);
  return (
    <Collapsible.Root className="form-group" open={open} onOpenChange={setOpen} role="group" aria-label={title}>
      <h3>
        <Collapsible.Trigger className="form-group-head">
          <ChevronIcon />
          {title} <span className="soft small">{summary}</span>
          {wrong > 0 && <span className="badge is-bad push">{formatCount(wrong, 'error')}</span>}
        </Collapsible.Trigger>
      </h3>
      <Collapsible.Content>
        <p className="form-group-help field-hint">
          {helpAt(form.schema, path)} {effect && `All fields ${effect}.`}
        </p>
        {children}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

/** The fields of one object. */
function Group({ form, path }: { form: Form; path: JsonPath }) {
  const fields = fieldsAt(form.schema, path);
  const count = countSet(form.config, path);
  const hasEffect = effectAt(form.schema, path) === undefined;
  const summary = `${formatCount(fields.length, 'field')}, ${useGroupSummary(form.config, path, fields)}`;
  return (
    <GroupFrame form={form} path={path} summary={summary} isOpen={count > 0}>
      {fields.map((field) => (
        <ConfigField key={field.key} form={form} of={path} field={field} hasEffect={hasEffect} />
      ))}
    </GroupFrame>
  );
}

function VersionGroup({ form, platform }: { form: Form; platform: string }) {
  const path = ['agent', 'version_control'];
  const fields = fieldsAt(form.schema, path);
  return (
    <GroupFrame form={form} path={path} summary={useGroupSummary(form.config, path, fields)} isOpen>
      {fields.map((field) => {
        const program = versionPrograms.find(({ key }) => key === field.key);
        return (
          <ConfigField
            key={field.key}
            form={form}
            of={path}
            field={field}
            hasEffect={false}
            {...(program && {
              input: (props) => <VersionInput {...props} name={program.name} platform={platform} />,
            })}
          />
        );
      })}
    </GroupFrame>
  );
}

/** A list of objects: add, edit, remove. */
function Networks({ form }: { form: Form }) {
  const path = ['agent', 'additional_networks'];
  const entries = entriesAt(form.config, path);
  const count = countSet(form.config, path);
  const [given, device] = [useFragmentValue(path), useDeviceDefault(path)];
  const otherwise = given ? 'from fragments' : device?.is === 'device' ? 'of the device' : 'none';
  return (
    <GroupFrame
      form={form}
      path={path}
      summary={count === 0 ? otherwise : formatCount(count, 'network')}
      isOpen={count > 0}
    >
      {entries === undefined && (
        <p className="form-group-help field-hint">Written in another form: edit it in the JSON.</p>
      )}
      {count === 0 && (
        <p className="form-group-help">
          <FieldSource from={given} otherwise={<DefaultSource of={device} otherwise="Default" />} />
        </p>
      )}
      {entries?.map((entry, at) => (
        <Network key={`${at}`} form={form} path={entry} number={at + 1} />
      ))}
      <p className="form-group-foot">
        <button
          type="button"
          className="button button-small"
          disabled={entries === undefined}
          onClick={() => form.onChange(addEntry(form.config, path, '{"type":"wifi","ssid":""}'))}
        >
          Add a network
        </button>
      </p>
    </GroupFrame>
  );
}

function Network({ form, path, number }: { form: Form; path: JsonPath; number: number }) {
  const [open, setOpen] = useState(() => jsonAt(form.config.json, [...path, 'ssid']) === '');
  const read = (key: string): string => {
    const value = jsonAt(form.config.json, [...path, key]);
    return typeof value === 'string' ? value : '';
  };
  const step = path.at(-1);
  const called = [read('ssid'), read('name'), read('interface'), typeof step === 'string' ? step : ''].find(Boolean);
  const wrong = problemsAt(form.problems, path).filter(isError).length;
  const name = `Network ${number}`;
  const hasEffect = effectAt(form.schema, path) === undefined;
  return (
    <Collapsible.Root className="form-entry" open={open} onOpenChange={setOpen} role="group" aria-label={name}>
      <div className="form-entry-head">
        <h4>
          <Collapsible.Trigger className="form-group-head">
            <ChevronIcon />
            {name}{' '}
            <span className="soft small break">
              {[called && isolateText(called), read('type')].filter(Boolean).join(' · ')}
            </span>
            {wrong > 0 && <span className="badge is-bad push">{formatCount(wrong, 'error')}</span>}
          </Collapsible.Trigger>
        </h4>
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => form.onChange(removeValue(form.config.text, path))}
        >
          Remove<span className="hidden-text"> {name.toLowerCase()}</span>
        </button>
      </div>
      <Collapsible.Content>
        {fieldsAt(form.schema, path).map((field) => (
          <ConfigField key={field.key} form={form} of={path} field={field} hasEffect={hasEffect} />
        ))}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
