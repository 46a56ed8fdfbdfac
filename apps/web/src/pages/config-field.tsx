import { useId } from 'react';
import type { ReactNode } from 'react';
import { removeValue } from '../view/config-edit.ts';
import type { ConfigText } from '../view/config-edit.ts';
import { defaultOf, problemsAt, stateOf } from '../view/config-form.ts';
import type { FormField } from '../view/config-form.ts';
import { isError } from '../view/config-problems.ts';
import type { ConfigProblem } from '../view/config-problems.ts';
import type { JsonSchema } from '../view/config-schema.ts';
import type { JsonPath } from '../view/json-path.ts';
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
  const { text } = form.config;
  const props = { id, field, state, text, isWrong: problems.some(isError), onChange: form.onChange };
  const isGroup = ['switch', 'texts', 'map', 'other'].includes(field.kind) || state.isForeign;
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
          {!state.isSet && <span className="soft">{field.isRequired ? 'Required' : 'Default'}</span>}
          {state.isSet && !field.isRequired && (
            <button type="button" className="link-button" onClick={() => form.onChange(removeValue(text, state.path))}>
              Use default<span className="hidden-text"> of {field.title}</span>
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
