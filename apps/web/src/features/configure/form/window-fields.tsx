import { SelectField, TextField } from '../../../ui/fields.tsx';
import type { ConfigText } from '../config-edit.ts';
import {
  addWindow,
  changeWindow,
  fieldsOf,
  removeWindow,
  weekDays,
  windowsOf,
  type WindowFields,
} from './maintenance-windows.ts';

interface MaintenanceWindowsProps {
  config: ConfigText;
  onChange: (draft: string) => void;
}

const mostWindows = 32;
const zones = ['UTC', 'device', ...Intl.supportedValuesOf('timeZone')];

/** The maintenance windows of the configuration as a form; a change is made in the editor's text, and saved with it. */
export function MaintenanceWindows({ config, onChange }: MaintenanceWindowsProps) {
  const windows = windowsOf(config.json);
  if (windows === undefined) return null;
  return (
    <section className="card card-body" aria-label="Maintenance windows">
      <div className="stack-tight">
        <h2>Maintenance windows</h2>
        <p className="small soft">
          {windows.length === 0
            ? 'None: a new version is used from the next restart on.'
            : 'A new version waits until one of these windows is open. It is downloaded before.'}
        </p>
      </div>
      {windows.map((window, index) => (
        <WindowForm
          key={`${index}`}
          name={`Window ${index + 1}`}
          fields={fieldsOf(window)}
          onChange={(fields) => onChange(changeWindow(config, index, fields))}
          onRemove={() => onChange(removeWindow(config, index))}
        />
      ))}
      <div>
        <button
          type="button"
          className="button button-small"
          disabled={windows.length >= mostWindows}
          onClick={() => onChange(addWindow(config))}
        >
          Add a window
        </button>
      </div>
    </section>
  );
}

interface WindowFormProps {
  name: string;
  fields: WindowFields;
  onChange: (fields: Partial<WindowFields>) => void;
  onRemove: () => void;
}

const endOptions = [
  { value: 'time', text: 'At a time' },
  { value: 'duration', text: 'After minutes' },
];

const WindowForm = ({ name, fields, onChange, onRemove }: WindowFormProps) => (
  <fieldset className="fields" aria-label={name}>
    <div className="row">
      <h3>{name}</h3>
      <button
        type="button"
        className="button button-quiet button-small push"
        aria-label={`Remove ${name.toLowerCase()}`}
        onClick={onRemove}
      >
        Remove
      </button>
    </div>
    <DayChoice days={fields.days} onChange={(days) => onChange({ days })} />
    <div className="form-grid">
      <TextField label="From" type="time" value={fields.from} onChange={(from) => onChange({ from })} />
      <SelectField
        label="Ends"
        value={fields.hasDuration ? 'duration' : 'time'}
        options={endOptions}
        onChange={(end) =>
          onChange(end === 'time' ? { hasDuration: false, to: '04:00' } : { hasDuration: true, durationMinutes: '120' })
        }
      />
      {fields.hasDuration ? (
        <TextField
          label="Minutes"
          type="number"
          value={fields.durationMinutes}
          onChange={(durationMinutes) => onChange({ durationMinutes })}
        />
      ) : (
        <TextField
          label="To"
          type="time"
          value={fields.to}
          onChange={(to) => onChange({ to })}
          hint={fields.to < fields.from ? 'On the next day.' : undefined}
        />
      )}
      <TextField
        label="Time zone"
        value={fields.timeZone}
        list={zones}
        onChange={(timeZone) => onChange({ timeZone })}
        hint={fields.timeZone === 'device' ? 'The time zone that the machine is set to.' : undefined}
      />
    </div>
  </fieldset>
);

interface DayChoiceProps {
  days: WindowFields['days'];
  onChange: (days: WindowFields['days']) => void;
}

const DayChoice = ({ days, onChange }: DayChoiceProps) => (
  <div className="row" role="group" aria-label="Days">
    {weekDays.map((day) => (
      <label key={day} className="choice">
        <input
          type="checkbox"
          checked={days.includes(day)}
          onChange={() => onChange(days.includes(day) ? days.filter((one) => one !== day) : [...days, day])}
        />
        {day.charAt(0).toUpperCase() + day.slice(1)}
      </label>
    ))}
  </div>
);
