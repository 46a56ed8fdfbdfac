import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { createContext, use, useMemo } from 'react';
import type { ReactNode } from 'react';
import { Ago } from '../../../ui/time.tsx';
import { shortValue } from '../fragments/fragment-values.ts';
import type { JsonPath } from '../schema/json-path.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { deviceDefaultAt, deviceDefaultsOf, fragmentNamedBy } from '../device-defaults.ts';
import type { DeviceDefault, DeviceDefaults } from '../device-defaults.ts';
import '../device-defaults.css';

/** Undefined: the form is not of a machine, for example that of a fragment. */
const context = createContext<DeviceDefaults | undefined>(undefined);

/** Knows what the defaults file of a machine sets, for the form below it. */
export function DefaultsOfMachine({ machine, children }: { machine: Machine; children: ReactNode }) {
  const value = useMemo(() => deviceDefaultsOf(machine), [machine]);
  return <context.Provider value={value}>{children}</context.Provider>;
}

/** What holds for a field that neither the machine nor a fragment sets; undefined: this is not known here. */
export function useDeviceDefault(path: JsonPath): DeviceDefault | undefined {
  const defaults = use(context);
  return defaults && deviceDefaultAt(defaults, path);
}

/** How many of these fields the defaults file sets. */
export function useDefaultsCount(path: JsonPath, keys: readonly string[]): number {
  const defaults = use(context);
  return keys.filter((key) => defaults && deviceDefaultAt(defaults, [...path, key])?.is === 'device').length;
}

/** Where the value of a field comes from that nothing sets. @param otherwise - for forms that are not of a machine */
export function DefaultSource({ of, otherwise }: { of: DeviceDefault | undefined; otherwise: string }) {
  if (of?.is === 'device')
    return (
      <span className="source-device break">
        Default of the device: {isolateText(shortValue(of.value))}, reported <Ago at={of.reportedOn} />
      </span>
    );
  if (of === undefined || otherwise !== 'Default') return <span className="soft">{otherwise}</span>;
  if (of.is === 'built-in') return <span className="soft">Built-in default</span>;
  return (
    <span className="soft" title={of.why}>
      Default not known<span className="hidden-text">: {of.why}</span>
    </span>
  );
}

/** The fragment that the device names and the configuration does not: to use it is a choice of the user. */
export function NamedFragment({ used, onUse }: { used: readonly string[]; onUse: ((id: string) => void) | undefined }) {
  const defaults = use(context);
  const id = defaults && fragmentNamedBy(defaults);
  if (id === undefined || used.includes(id)) return null;
  return (
    <p className="device-fragment">
      <span className="break">
        The defaults file of this device names the fragment <code>{id}</code>.
      </span>
      <button type="button" className="button button-small" disabled={!onUse} onClick={() => onUse?.(id)}>
        Use it
      </button>
    </p>
  );
}
