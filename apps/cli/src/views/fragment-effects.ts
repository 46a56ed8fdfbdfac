import {
  type ConfigChange,
  ConfigChangeKindSchema,
  type FragmentEffect,
  type PreviewFragmentResponse,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { counted, enumWord, printable } from '../output.ts';

export const effectJson = ({ machineId, machineName, partId, changes, problems }: FragmentEffect) => ({
  machine_id: machineId,
  machine: machineName,
  part_id: partId,
  changes: changes.map(({ path, kind }) => ({ path, change: enumWord(ConfigChangeKindSchema, kind) })),
  errors: problems.map(({ path, message, remedy }) => ({ path, message, remedy })),
});

const changeText = ({ path, kind }: ConfigChange): string => `  ${enumWord(ConfigChangeKindSchema, kind)} ${path}`;

/** What changes on which machine; the same changes of several machines stand once. */
export function effectLines({ machines, machineCount }: PreviewFragmentResponse): string[] {
  if (machineCount === 0) return ['No machine follows this fragment.'];
  const broken = machines.filter(({ problems }) => problems.length > 0);
  const groups = Map.groupBy(
    machines.filter(({ changeCount }) => changeCount > 0),
    ({ changes, changeCount }) => [...changes.map(changeText), ...more(changeCount - changes.length)].join('\n'),
  );
  const unchanged = machines.filter(({ changeCount }) => changeCount === 0).length;
  return [
    ...[...groups].flatMap(([text, all]) => [`${names(all)}:`, printableLines(text)]),
    ...(unchanged > 0 ? [`${counted(unchanged, 'machine')}: nothing changes.`] : []),
    ...broken.flatMap(({ machineName, problems }) =>
      problems.map(({ path, message, remedy }) => printable(`error on ${machineName}, ${path}: ${message} ${remedy}`)),
    ),
  ];
}

const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

const more = (count: number): string[] => (count > 0 ? [`  and ${count} more`] : []);

const namedMachines = 10;

const names = (machines: readonly FragmentEffect[]): string => {
  const shown = machines.slice(0, namedMachines).map(({ machineName }) => printable(machineName));
  const rest = machines.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
};
