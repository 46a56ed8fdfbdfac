import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { isObject } from '@platform/contract/text/json-object';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useRevealed } from '../../../ui/secrets.tsx';
import { removeValue, renameKey, setValue } from '../config-edit.ts';
import { defaultOf, literalOf } from './form-rows.ts';
import type { FieldState, FormField } from './form-rows.ts';
import { formatPath } from '../schema/json-path.ts';
import type { JsonPath } from '../schema/json-path.ts';

/** What an input needs: its field, and the text that it edits. */
export interface InputProps {
  id: string;
  field: FormField;
  state: FieldState;
  isWrong: boolean;
  text: string;
  onChange: (text: string) => void;
}

/** The input of a field by its kind; it writes into the text of the configuration. */
export function FieldInput(props: InputProps) {
  const { field, state } = props;
  if (state.isForeign)
    return <p className="field-hint">Written in another form: edit it in the JSON, or use the default.</p>;
  switch (field.kind) {
    case 'switch':
      return <SwitchInput {...props} />;
    case 'choice':
      return <ChoiceInput {...props} />;
    case 'texts':
    case 'numbers':
      return <TextsInput {...props} />;
    case 'map':
      return <MapInput {...props} />;
    case 'object':
    case 'objects':
    case 'other':
      return <p className="field-hint">Edit it in the JSON.</p>;
    case 'number':
    case 'text':
    case 'long text':
      return <LineInput {...props} />;
  }
}

const unitNames: Readonly<Record<string, string>> = { min: 'minutes', h: 'hours', s: 'seconds' };

/** The attributes that connect an input with its name, its help and its problems. */
const describedBy = (id: string, isWrong: boolean) => ({
  'aria-describedby': isWrong ? `${id}-help ${id}-wrong` : `${id}-help`,
});

function LineInput({ id, field, state, isWrong, text, onChange }: InputProps) {
  const write = (typed: string): void => onChange(setValue(text, state.path, literalOf(field.kind, typed)));
  const fallback = defaultOf(field);
  const input = {
    id,
    value: state.text,
    placeholder: state.isSet ? '' : (fallback ?? ''),
    'aria-invalid': isWrong,
    ...describedBy(id, isWrong),
  };
  if (field.isSecret)
    return (
      <SecretInput
        {...input}
        path={state.path}
        title={field.title}
        isLong={field.kind === 'long text'}
        onWrite={write}
      />
    );
  if (field.kind === 'long text')
    return (
      <textarea
        {...input}
        className="input input-long"
        rows={3}
        spellCheck={false}
        onChange={(event) => write(event.target.value)}
      />
    );
  return (
    <span className="input-line">
      <input
        {...input}
        className="input"
        type="text"
        inputMode={field.kind === 'number' ? 'numeric' : 'text'}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        onChange={(event) => write(event.target.value)}
      />
      {field.unit !== undefined && <span className="input-unit">{unitNames[field.unit] ?? field.unit}</span>}
    </span>
  );
}

interface SecretInputProps {
  id?: string;
  path: JsonPath;
  title: string;
  value: string;
  placeholder: string;
  isLong?: boolean;
  'aria-label'?: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
  onWrite: (typed: string) => void;
}

/** Hidden until its button is pressed. A browser offers to keep what is in an input of type password, so this says it must not. */
function SecretInput({ path, title, isLong = false, onWrite, ...given }: SecretInputProps) {
  const revealed = useRevealed(formatPath(path));
  const [isOpen, setShown] = useState(false);
  // The server keeps a saved value: what is typed replaces it.
  const isSaved = given.value === secretPlaceholder;
  const isShown = isSaved ? revealed.value !== undefined : isOpen;
  const input = isSaved ? { ...given, value: revealed.value ?? '', placeholder: 'saved, hidden' } : given;
  return (
    <span className="input-line">
      {isLong ? (
        <textarea
          {...input}
          className={isShown ? 'input input-long' : 'input input-long input-hidden'}
          rows={3}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onWrite(event.target.value)}
        />
      ) : (
        <input
          {...input}
          className="input"
          type={isShown ? 'text' : 'password'}
          spellCheck={false}
          autoComplete="new-password"
          onChange={(event) => onWrite(event.target.value)}
        />
      )}
      <button
        type="button"
        className="button button-small"
        aria-pressed={isShown}
        onClick={isSaved ? revealed.toggle : () => setShown(!isOpen)}
      >
        {isShown ? 'Hide' : isSaved ? 'Reveal' : 'Show'}
        <span className="hidden-text"> {title}</span>
      </button>
    </span>
  );
}

/** Off and on; unset marks neither as chosen, and the default with its frame. */
function SwitchInput({ id, field, state, isWrong, text, onChange }: InputProps) {
  const options = [
    { literal: 'false', name: 'Off' },
    { literal: 'true', name: 'On' },
    ...(field.isNullable ? [{ literal: 'null', name: 'System' }] : []),
  ];
  const fallback = field.isNullable ? 'null' : (field.start ?? 'false');
  return (
    <div className="segments" role="radiogroup" aria-labelledby={`${id}-name`} {...describedBy(id, isWrong)}>
      {options.map(({ literal, name }) => (
        <label key={literal} className={!state.isSet && literal === fallback ? 'segment is-default' : 'segment'}>
          <input
            type="radio"
            name={id}
            checked={state.isSet && state.text === literal}
            onChange={() => onChange(setValue(text, state.path, literal))}
          />
          {name}
        </label>
      ))}
    </div>
  );
}

/** The choice that removes the key; no value of the schema contains it. */
const unset = '\u0000';

function ChoiceInput({ id, field, state, isWrong, text, onChange }: InputProps) {
  const values = field.values.map(String);
  const isUnknown = state.isSet && !values.includes(state.text);
  const choose = (value: string): void =>
    onChange(value === unset ? removeValue(text, state.path) : setValue(text, state.path, literalFor(value)));
  /** A number is chosen by its text. */
  const literalFor = (value: string): string => JSON.stringify(field.values[values.indexOf(value)] ?? value);
  return (
    <select
      id={id}
      className="select"
      value={state.isSet ? state.text : unset}
      aria-invalid={isWrong}
      {...describedBy(id, isWrong)}
      onChange={(event) => choose(event.target.value)}
    >
      {!(field.isRequired && state.isSet) && (
        <option value={unset}>
          {field.isRequired ? 'Choose …' : defaultOf(field) === undefined ? 'Not set' : `Default: ${defaultOf(field)}`}
        </option>
      )}
      {values.map((value) => (
        <option key={value} value={value}>
          {value === '' ? 'empty ("")' : value}
        </option>
      ))}
      {isUnknown && (
        <option value={state.text}>{state.text === '' ? 'Choose …' : `${state.text} (not possible)`}</option>
      )}
    </select>
  );
}

function TextsInput({ id, field, state, isWrong, text, onChange }: InputProps) {
  const values = state.texts;
  const isOfNumbers = field.kind === 'numbers';
  const add = (): void => onChange(setValue(text, [...state.path, values.length], isOfNumbers ? '0' : '""'));
  const literal = (typed: string): string => literalOf(isOfNumbers ? 'number' : 'text', typed);
  return (
    <div className="stack-tight" role="group" aria-labelledby={`${id}-name`} {...describedBy(id, isWrong)}>
      {values.map((value, at) => (
        <Removable
          key={`${at}`}
          name={`${field.title} ${at + 1}`}
          onRemove={() => onChange(removeValue(text, [...state.path, at]))}
        >
          <input
            className="input"
            type="text"
            value={value}
            aria-label={`${field.title} ${at + 1}`}
            autoComplete="off"
            spellCheck={false}
            inputMode={isOfNumbers ? 'decimal' : 'text'}
            onChange={(event) => onChange(setValue(text, [...state.path, at], literal(event.target.value)))}
          />
        </Removable>
      ))}
      <AddButton name={field.title} onClick={add} />
    </div>
  );
}

interface RemovableProps {
  name: string;
  onRemove: () => void;
  children: ReactNode;
}
const Removable = ({ name, onRemove, children }: RemovableProps) => (
  <div className="input-line">
    {children}
    <button type="button" className="button button-small" onClick={onRemove}>
      Remove<span className="hidden-text"> {name}</span>
    </button>
  </div>
);

const AddButton = ({ name, onClick }: { name: string; onClick: () => void }) => (
  <div>
    <button type="button" className="button button-small" onClick={onClick}>
      Add<span className="hidden-text"> to {name}</span>
    </button>
  </div>
);

function MapInput({ id, field, state, isWrong, text, onChange }: InputProps) {
  const entries = isObject(state.value) ? Object.entries(state.value) : [];
  const keys = entries.map(([key]) => key);
  const add = (): void => {
    let at = keys.length + 1;
    while (keys.includes(`NAME_${at}`)) at++;
    onChange(setValue(text, [...state.path, `NAME_${at}`], '""'));
  };
  return (
    <div className="stack-tight" role="group" aria-labelledby={`${id}-name`} {...describedBy(id, isWrong)}>
      {entries.map(([key, value], at) => {
        const path: JsonPath = [...state.path, key];
        return (
          <div key={`${at}`} className="stack-tight map-entry">
            <Removable name={key} onRemove={() => onChange(removeValue(text, path))}>
              <KeyInput
                key={key}
                name={`Name ${at + 1} of ${field.title}`}
                value={key}
                taken={keys}
                onRename={(next) => onChange(renameKey(text, path, next))}
              />
            </Removable>
            <SecretInput
              path={path}
              title={key}
              value={String(value)}
              placeholder=""
              aria-label={`Value of ${key}`}
              aria-invalid={isWrong}
              aria-describedby={`${id}-help`}
              onWrite={(typed) => onChange(setValue(text, path, JSON.stringify(typed)))}
            />
          </div>
        );
      })}
      <AddButton name={field.title} onClick={add} />
    </div>
  );
}

interface KeyInputProps {
  name: string;
  value: string;
  taken: readonly string[];
  onRename: (key: string) => void;
}
/** The key is written when the input is left: while it is typed it may be equal to another one. */
function KeyInput({ name, value, taken, onRename }: KeyInputProps) {
  const [typed, setTyped] = useState(value);
  const leave = (): void => (taken.includes(typed) ? setTyped(value) : onRename(typed));
  return (
    <input
      className="input"
      type="text"
      value={typed}
      aria-label={name}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={leave}
    />
  );
}
