import type { ReactNode } from 'react';
import { useId } from 'react';

interface TextFieldProps {
  label: string;
  value: string;
  type?: 'text' | 'time' | 'number';
  onChange: (value: string) => void;
  problem?: ReactNode;
  hint?: ReactNode;
  placeholder?: string;
  list?: readonly string[];
  maxLength?: number;
  isRequired?: boolean;
  /** Has the focus as soon as it appears: the only field of a dialog. */
  isFocused?: boolean;
}
/** The attribute `autofocus` works only while a page loads. */
const focus = (input: HTMLInputElement | null): void => input?.focus();

export function TextField(props: TextFieldProps) {
  const {
    label,
    value,
    type = 'text',
    onChange,
    problem,
    hint,
    placeholder,
    list,
    maxLength,
    isRequired = false,
    isFocused = false,
  } = props;
  const id = useId();
  const description = problem ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        type={type}
        value={value}
        autoComplete="off"
        placeholder={placeholder}
        maxLength={maxLength}
        required={isRequired}
        ref={isFocused ? focus : null}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={problem !== undefined}
        {...(description === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        {...(list === undefined ? {} : { list: `${id}-list` })}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {description !== undefined && (
        <p id={`${id}-hint`} className={problem === undefined ? 'field-hint' : 'field-wrong'}>
          {description}
        </p>
      )}
    </div>
  );
}

interface SelectFieldProps {
  label: string;
  value: string;
  options: readonly { value: string; text: string }[];
  onChange: (value: string) => void;
  hint?: ReactNode;
}
export function SelectField({ label, value, options, onChange, hint }: SelectFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="select" value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.text}
          </option>
        ))}
      </select>
      {hint !== undefined && <p className="field-hint">{hint}</p>}
    </div>
  );
}
