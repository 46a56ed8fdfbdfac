import { Cell, errorText, setIfDifferent, changedOr } from '@platform/kit';
import type { Network, NetworkState } from '../../os/network-port.ts';
import { contentOf } from '../../state/state.ts';
import { readChecked, writeChecked } from '../../storage/checked-file.ts';
import type { NetworksApplied } from '../profiles/additional-networks.ts';
import type { CountryOutcome } from '../settings/country.ts';
import {
  configuredNetworks,
  ineffectiveNetworks,
  steadyRows,
  withSince,
  type NetworkRow,
  type NetworkRows,
} from './network-rows.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import type { NetworkStatus } from './network-status.ts';
import { radioOf } from '../checks/observation.ts';
import { noMemory, remember, type RowMemory, type SeenInterface } from './row-memory.ts';
import { ineffectiveSettings, settingRows, type PowerSaveReading } from './setting-rows.ts';
import type { Context } from '../../health/context.ts';

/** Radios and configured interfaces that were there once. */
const interfacesFile = 'state/network-interfaces.json';
/** Rows say when they were measured: without changes this often. */
export const measureEveryMs = 60_000;
/** NetworkManager reports changes by signals: a question shows whether it still does. */
export const answerLimitMs = 10_000;
/** Times alone change the status no more often than this. */
const refreshEveryMs = 5 * 60_000;

export interface RowParts extends Pick<Context, 'disk' | 'clock' | 'log'> {
  network: Network;
  settings: Cell<NetworkSettings>;
  applied: Cell<NetworksApplied>;
  country: Cell<CountryOutcome | undefined>;
  /** What the agent does with the network, without rows. */
  inner: Cell<NetworkStatus | undefined>;
  /** The same with rows. */
  status: Cell<NetworkStatus | undefined>;
}

/** Keeps one row for each configured network and setting of a radio, from what is observed. */
export async function keepRows(parts: RowParts, signal: AbortSignal): Promise<void> {
  const isSilent = new Cell(false);
  await Promise.all([watchAnswers(parts, isSilent, signal), measureRows(parts, isSilent, signal)]);
}

async function watchAnswers({ network, clock }: RowParts, isSilent: Cell<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(measureEveryMs, signal);
    if (signal.aborted) return;
    const isAnswering = network.state.get().manager !== 'ready' || (await network.isAnswering(answerLimitMs));
    isSilent.set(!isAnswering && network.state.get().manager === 'ready');
  }
}

async function measureRows(parts: RowParts, isSilent: Cell<boolean>, signal: AbortSignal): Promise<void> {
  const { network, settings, applied, country, inner, status, clock } = parts;
  let memory = await recalled(parts);
  let rows: NetworkRows | undefined;
  let setAt = -Infinity;
  while (!signal.aborted) {
    const [seen, wasSilent] = [network.state.get(), isSilent.get()];
    if (seen.manager !== 'starting') {
      const before = namesOf(memory);
      memory = remember(memory, { network: seen, settings: settings.get(), now: clock.now(), wall: clock.wall() });
      if (namesOf(memory) !== before) await record(memory, parts);
      const powerSave = await powerSaveOf(parts, seen);
      const next = measured(parts, { memory, powerSave, before: rows, isSilent: wasSilent });
      const isSame = rows !== undefined && JSON.stringify(steadyRows(rows)) === JSON.stringify(steadyRows(next));
      if (!isSame || clock.now() - setAt >= refreshEveryMs) [rows, setAt] = [next, clock.now()];
    }
    const own = inner.get();
    setIfDifferent(status, own && rows ? { ...own, rows } : own);
    if (network.state.get() !== seen || isSilent.get() !== wasSilent) continue;
    await changedOr([network.state, settings, applied, country, inner, isSilent], measureEveryMs, clock, signal);
  }
}

/** The rows of this moment. */
function measured(
  { network, settings: cell, applied, country, inner, clock }: RowParts,
  of: {
    memory: RowMemory;
    powerSave: PowerSaveReading | undefined;
    before: NetworkRows | undefined;
    isSilent: boolean;
  },
): NetworkRows {
  const [settings, own, wall] = [cell.get(), inner.get(), clock.wall()];
  const source = {
    settings,
    network: network.state.get(),
    memory: of.memory,
    links: own?.links ?? [],
    attempts: own?.attempts ?? [],
    failure: applied.get().failure,
    country: country.get(),
    powerSave: of.powerSave,
    isSilent: of.isSilent,
    now: clock.now(),
    wall,
  };
  const since = (rows: readonly NetworkRow[], before: readonly NetworkRow[] = []) => withSince(rows, before, wall);
  const networks = since(configuredNetworks(source), of.before?.networks);
  const ineffectiveOf = () => {
    if (settings.isDisabled) return [];
    // What cannot be measured is not mended by that.
    if (of.isSilent) return of.before?.ineffective ?? [];
    return [...ineffectiveSettings(source), ...ineffectiveNetworks(networks)];
  };
  return {
    ...contentOf(settings),
    networks,
    settings: since(settingRows(source), of.before?.settings),
    ineffective: ineffectiveOf(),
  };
}

/** Asked only while the configuration has the setting. */
async function powerSaveOf(
  { network, settings, clock }: RowParts,
  state: NetworkState,
): Promise<PowerSaveReading | undefined> {
  const { config, isDisabled } = settings.get();
  const radio = radioOf(state, config.hotspot_interface);
  if (config.wifi_power_save === null || isDisabled || radio === '') return undefined;
  const isOn = await network.isPowerSaving(radio).catch(() => undefined);
  return { isOn, measuredWall: clock.wall() };
}

const namesOf = ({ interfaces }: RowMemory): string => Object.keys(interfaces).toSorted().join(' ');

/** A new interface is written once: the flash must not wear out. */
async function record({ interfaces }: RowMemory, { disk, log }: RowParts): Promise<void> {
  await writeChecked(disk, interfacesFile, { interfaces }).catch((error: unknown) =>
    log.debug('the interfaces that were seen are not stored', { error: errorText(error) }),
  );
}

async function recalled({ disk }: RowParts): Promise<RowMemory> {
  const { value: interfaces = {} } = await readChecked(disk, interfacesFile, interfacesOf);
  return { ...noMemory, interfaces };
}

function interfacesOf(value: unknown): RowMemory['interfaces'] {
  const { interfaces } = value as { interfaces?: Partial<Record<string, Partial<SeenInterface>>> };
  if (typeof interfaces !== 'object') throw new Error('it names no interfaces');
  return Object.fromEntries(
    Object.entries(interfaces).map(([name, of]) => [
      name,
      { isRadio: of?.isRadio === true, wall: Number(of?.wall) || 0 },
    ]),
  );
}
