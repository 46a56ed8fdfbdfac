import { Link } from '@tanstack/react-router';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Dot } from '../../../ui/badges.tsx';
import { useKnownState, useLostSince } from '../../../ui/contact.tsx';
import { Ago } from '../../../ui/time.tsx';
import { type machineColumns, reportedText } from './machine-columns.ts';
import { machineBadge, machineView, type MachineView } from '../../../entities/machine/machine-status.ts';

type Column = (typeof machineColumns)[number];

interface MachineCellsProps {
  machine: Machine | undefined;
  columns: readonly Column[];
  isChosen: boolean;
  onChoose: (isOn: boolean, isRange: boolean) => void;
}

/** The cells of a machine; until it is loaded, bars that keep their place. */
export function MachineCells({ machine: found, columns, isChosen, onChoose }: MachineCellsProps) {
  if (!found)
    return (
      <td className="lead soft" colSpan={columns.length + 1}>
        Loading …
      </td>
    );
  const machine = machineView(found);
  return (
    <>
      <td className="table-pick above">
        <input
          type="checkbox"
          aria-label={`Select ${machine.name}`}
          checked={isChosen}
          // The browser's own change says nothing of the Shift key; a key clicks, too.
          onClick={({ currentTarget, shiftKey }) => onChoose(currentTarget.checked, shiftKey)}
          readOnly
        />
      </td>
      {columns.map((column) => (
        <MachineCell key={column.key} column={column} found={found} machine={machine} />
      ))}
    </>
  );
}

function MachineCell({
  column: { key, isNumber },
  found,
  machine,
}: {
  column: Column;
  found: Machine;
  machine: MachineView;
}) {
  const className = `${isNumber ? 'number ' : ''}col-${key}`;
  switch (key) {
    case 'name':
      return (
        <td className={`lead ${className}`}>
          <Link to="/machines/$machineId" params={{ machineId: machine.id }} className="row-link" title={machine.name}>
            {machine.name}
          </Link>
        </td>
      );
    case 'state':
      return (
        <td className={className}>
          <MachineState machine={machine} />
        </td>
      );
    case 'condition':
      return <ConditionCell machine={machine} className={className} />;
    case 'revision':
      return (
        <td className={className} title={machine.config.text}>
          {machine.config.short}
        </td>
      );
    case 'seen':
      return (
        <td className={className}>
          <LastSeen machine={machine} />
        </td>
      );
    default:
      return (
        <td className={className} title={reportedText(found, key)}>
          {reportedText(found, key)}
        </td>
      );
  }
}

/** A dot and a word. What needs action stands in the next column. */
function MachineState({ machine }: { machine: MachineView }) {
  const state = useKnownState(machine.online);
  return (
    <span className={`state state-${state.tone}`}>
      <Dot tone={state.tone} />
      {state.text}
    </span>
  );
}

/** The server answers only if something else changes than when machines that are online were seen last. */
function LastSeen({ machine: { isOnline, lastSeen } }: { machine: MachineView }) {
  const isLost = useLostSince() !== undefined;
  return isOnline && !isLost ? 'now' : <Ago at={lastSeen} />;
}

/** The worst condition in words; past ones of machines that do not report are quiet. */
function ConditionCell({ machine, className }: { machine: MachineView; className: string }) {
  const { conditions, pastAt, isOnline } = machine;
  const [worst] = conditions.filter(({ tone }) => tone === 'bad' || tone === 'warn');
  const badge = machineBadge(machine);
  const isGeneral = badge === undefined || badge.text === 'error' || badge.text === 'warning';
  const shown = isGeneral && worst ? { tone: worst.tone, text: worst.message } : badge;
  const text = shown?.text ?? '';
  const tone = pastAt !== undefined || !isOnline ? 'soft' : `is-${shown?.tone ?? 'quiet'}-text`;
  return (
    <td className={className} title={text}>
      <span className={tone}>{text}</span>
    </td>
  );
}
