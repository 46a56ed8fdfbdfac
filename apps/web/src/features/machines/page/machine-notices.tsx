import { Note } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import type { ConditionView, MachineView } from '../../../entities/machine/machine-status.ts';
import { sharedIdentityCode } from '../../../entities/machine/shared-identity.ts';
import { QuarantineNotice } from './quarantine-notice.tsx';
import { SplitMachine } from './split-machine.tsx';

/** Says that what the machine reported is of the past. */
export const PastReport = ({ machine: { pastAt, isOnline, uninstalled } }: { machine: MachineView }) =>
  pastAt !== undefined &&
  uninstalled === undefined && (
    <Note tone="quiet">
      <p>
        {isOnline ? 'Its reports do not arrive' : 'The machine is offline'}: everything that it reported is as of{' '}
        <Ago at={pastAt} />, and says nothing of now.
      </p>
    </Note>
  );

interface ConditionsProps {
  machine: MachineView;
  /** One that the page says elsewhere. */
  except?: Pick<ConditionView, 'code' | 'path' | 'message'> | undefined;
}

/** What needs attention, with its remedy: quarantined versions, then the conditions, the worst first. */
export const MachineConditions = ({ machine, except }: ConditionsProps) => (
  <>
    <QuarantineNotice machine={machine} />
    <Conditions machine={machine} except={except} />
  </>
);

/** A dialog that is open stays so when the text of its condition changes. */
const keyOf = ({ code, message }: ConditionView): string => (code === sharedIdentityCode ? code : `${code} ${message}`);

/** Conditions that need action; notes stay in the status. */
const Conditions = ({ machine, except }: ConditionsProps) =>
  machine.conditions
    .filter(({ tone }) => tone === 'bad' || tone === 'warn')
    .filter(({ code, path, message }) => code !== except?.code || path !== except.path || message !== except.message)
    .map((condition) => (
      <Note key={keyOf(condition)} tone={condition.tone}>
        <p>
          {condition.message} <span className="soft">{condition.remedy}</span>
        </p>
        <ConditionSource condition={condition} />
        {condition.code === sharedIdentityCode && machine.sharing && (
          <SplitMachine machine={machine} sharing={machine.sharing} />
        )}
      </Note>
    ));

/** Its code, its place in the configuration, and since when. */
export const ConditionSource = ({ condition: { code, path, since } }: { condition: ConditionView }) => (
  <p className="small soft">
    <span className="mono break">
      {code}
      {path !== '' && ` · ${path}`}
    </span>
    {since !== undefined && ' · '}
    <Ago at={since} otherwise="" />
  </p>
);
