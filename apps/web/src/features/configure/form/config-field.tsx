import { useId } from 'react';
import type { ReactNode } from 'react';
import { removeValue } from '../config-edit.ts';
import type { ConfigText } from '../config-edit.ts';
import { DefaultSource, useDeviceDefault } from './default-source.tsx';
import { defaultOf, problemsAt, stateOf } from './form-rows.ts';
import type { FormField } from './form-rows.ts';
import { isError } from '../config-problems.ts';
import type { ConfigProblem } from '../config-problems.ts';
import type { JsonSchema } from '../schema/config-schema.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { FieldSource, useFragmentValue } from './config-fragments.tsx';
import { isolateText } from '../../../ui/user-text.ts';
import { FieldInput } from './field-inputs.tsx';
import type { InputProps } from './field-inputs.tsx';

/** What all fields of the form share. */
export interface Form {
  config: ConfigText;
  schema: JsonSchema;
  problems: readonly ConfigProblem[];
  onChange: (text: string) => void;
}

interface ConfigFieldProps {
  form: Form;
  /** The path of the object that has the field. */
  of: JsonPath;
  field: FormField;
  /** Says since when it acts, because the fields of its group differ. */
  hasEffect: boolean;
  /** In place of the input that the schema describes. */
  input?: (props: InputProps) => ReactNode;
}

/** One field: its name and help, its input, where its value comes from, and its problems. */
export function ConfigField({ form, of, field, hasEffect, input }: ConfigFieldProps) {
  const id = useId();
  const state = stateOf(form.config, of, field);
  const problems = problemsAt(form.problems, state.path);
  const given = useFragmentValue(state.path);
  const device = useDeviceDefault(state.path);
  const { text } = form.config;
  const held = given ?? (device?.is === 'device' ? device : undefined);
  const shown = held && !state.isSet && input === undefined ? withDefault(field, held.value) : field;
  const props = { id, field: shown, state, text, isWrong: problems.some(isError), onChange: form.onChange };
  const isGroup =
    ['switch', 'texts', 'numbers', 'map', 'object', 'objects', 'other'].includes(field.kind) || state.isForeign;
  return (
    <div className={state.isSet ? 'form-row is-set' : 'form-row'}>
      <div className="form-row-name">
        {isGroup ? (
          <span className="label" id={`${id}-name`} title={field.key}>
            {field.title}
          </span>
        ) : (
          <label className="label" htmlFor={id} title={field.key}>
            {field.title}
          </label>
        )}
        <p id={`${id}-help`} className="field-hint">
          {field.description} <span className="form-row-facts">{factsOf(field, hasEffect)}</span>
        </p>
      </div>
      <div className="form-row-input">
        {input === undefined || state.isForeign ? <FieldInput {...props} /> : input(props)}
        <div className="form-row-source">
          {state.isSet && <span className="source-own">Set here</span>}
          {!state.isSet && (
            <FieldSource from={given} otherwise={<DefaultSource of={device} otherwise={sourceOf(field)} />} />
          )}
          {state.isSet && !field.isRequired && (
            <button type="button" className="link-button" onClick={() => form.onChange(removeValue(text, state.path))}>
              {given
                ? `Use that of ${isolateText(given.name)}`
                : defaultOf(field) === undefined
                  ? 'Unset'
                  : 'Use default'}
              <span className="hidden-text"> of {field.title}</span>
            </button>
          )}
        </div>
      </div>
      {problems.length > 0 && (
        <ul id={`${id}-wrong`} className="form-row-problems">
          {problems.map((one, at) => (
            <li key={`${one.where} ${at}`} className={isError(one) ? 'field-wrong' : 'field-hint'}>
              {one.isReported && 'On the machine: '}
              {one.message} {one.remedy}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** An input without a value shows what holds instead. */
function withDefault(field: FormField, value: unknown): FormField {
  const text = JSON.stringify(value);
  return { ...field, default: text, start: text };
}

const sourceOf = (field: FormField): string =>
  field.isRequired ? 'Required' : defaultOf(field) === undefined ? 'Not set' : 'Default';

function factsOf(field: FormField, hasEffect: boolean): string {
  const fallback = defaultOf(field);
  const facts = [
    fallback !== undefined &&
      `Default: ${fallback}${field.unit !== undefined && /\d$/.test(fallback) ? ` ${field.unit}` : ''}`,
    field.limits !== undefined &&
      (field.kind === 'number' ? `from ${field.limits.replace(' … ', ' to ')}` : field.limits),
    hasEffect && field.effect,
  ];
  return facts.filter(Boolean).join(' · ');
}
