import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useId, useState } from 'react';
import { ConfirmDialog } from '../../../ui/dialogs.tsx';
import { RestartIcon } from '../../../ui/icons.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { useRefreshMachine } from './refresh-machine.ts';
import type { MachineView } from '../../../entities/machine/machine-status.ts';
import { orderKinds, type OrderName, orderProblem, type OrderView, orderViews } from './part-orders.ts';
import { isolateText } from '../../../ui/user-text.ts';

const actions: readonly { name: OrderName; label: string; title: string; verb: string; what: string }[] = [
  {
    name: 'restart server',
    label: 'Restart server',
    title: 'Restart the machine server?',
    verb: 'Restart',
    what: 'stops what it is doing: cameras, predictions and uploads pause until the server is ready again.',
  },
  {
    name: 'restart agent',
    label: 'Restart agent',
    title: 'Restart the agent?',
    verb: 'Restart',
    what: 'restarts its agent, and with it the machine server. A new version of the agent that is installed runs from then on.',
  },
  {
    name: 'reboot',
    label: 'Reboot device',
    title: 'Reboot the device?',
    verb: 'Reboot',
    what: 'goes down and boots again: everything on it stops meanwhile.',
  },
];

/** What operators order of a machine, and what became of it. */
export function PartOrders({ machine }: { machine: MachineView }) {
  const refresh = useRefreshMachine();
  const [asked, setAsked] = useState<OrderName>();
  const restart = useMutation(FleetService.method.restartPart, { onSuccess: refresh });
  const order = useMutation(FleetService.method.orderPart, { onSuccess: refresh });
  const views = orderViews(machine.orders, { isOnline: machine.isOnline, now: useNow() });
  const action = actions.find(({ name }) => name === asked);
  const error = order.error ?? restart.error;
  const confirm = (): void => {
    order.reset();
    restart.reset();
    if (asked === 'restart server') restart.mutate({ partId: machine.partId });
    else if (asked) order.mutate({ partId: machine.partId, kind: orderKinds[asked] });
  };
  return (
    <section className="popover-part" aria-label="Orders">
      <h2>Restart and reboot</h2>
      <div className="order-buttons">
        {actions.map(({ name, label }) => (
          <OrderButton
            key={name}
            label={label}
            problem={orderProblem(name, {
              ...machine,
              agentVersion: machine.agent.isRunning ? machine.agent.running : '',
            })}
            isOpen={views.some((one) => one.name === name && one.isOpen) || order.isPending || restart.isPending}
            onPress={() => setAsked(name)}
          />
        ))}
      </div>
      {error && <FailureNote error={error} />}
      {views.length > 0 && (
        <ul className="diagnostic-list small" aria-live="polite">
          {views.map((one) => (
            <Order key={one.name} order={one} />
          ))}
        </ul>
      )}
      <ConfirmDialog
        title={action?.title ?? ''}
        text={`${isolateText(machine.name)} ${action?.what ?? ''}${busyText(machine)}${offlineText(machine)}`}
        verb={action?.verb ?? ''}
        isOpen={action !== undefined}
        onClose={() => setAsked(undefined)}
        onConfirm={confirm}
      />
    </section>
  );
}

const busyText = ({ isRestartAllowed, hasReport }: MachineView): string =>
  isRestartAllowed || !hasReport ? '' : ' The server says that it is busy now.';
const offlineText = ({ isOnline }: MachineView): string =>
  isOnline ? '' : ' It is offline: the order waits for it, for at most an hour.';

interface OrderButtonProps {
  label: string;
  problem: string | undefined;
  isOpen: boolean;
  onPress: () => void;
}

function OrderButton({ label, problem, isOpen, onPress }: OrderButtonProps) {
  const id = useId();
  return (
    <div>
      <button
        type="button"
        className="button button-small"
        disabled={isOpen || problem !== undefined}
        aria-describedby={problem === undefined ? undefined : id}
        onClick={onPress}
      >
        <RestartIcon />
        {label}
      </button>
      {problem !== undefined && (
        <p id={id} className="small soft">
          {problem}
        </p>
      )}
    </div>
  );
}

const Order = ({ order: { title, text, tone, requestedOn } }: { order: OrderView }) => (
  <li className={`diagnostic is-${tone}`}>
    <strong>{title}</strong>, ordered <Ago at={requestedOn} />: {text.replace(/\.$/, '')}.
  </li>
);
