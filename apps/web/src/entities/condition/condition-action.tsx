import { useMutation } from '@connectrpc/connect-query';
import type { Condition } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { FleetService, OrderKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ConfirmDialog } from '../../ui/dialogs.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { isolateText } from '../../ui/user-text.ts';
import { type Order, remedyOf } from './condition-words.ts';

/** The button of a condition: it leads to its place, or orders something after a question. */
export function ConditionButton({ condition }: { condition: Condition }) {
  const remedy = remedyOf(condition);
  if (remedy === undefined) return null;
  if (remedy.is === 'link')
    return (
      <Link
        to={remedy.to}
        {...(remedy.search && { search: remedy.search })}
        className="button button-small condition-button"
      >
        {remedy.text}
      </Link>
    );
  return <OrderButton condition={condition} {...remedy} />;
}

interface OrderButtonProps {
  condition: Condition;
  text: string;
  order: Order;
  question: string;
}
function OrderButton({ condition: { partId, subjectName }, text, order, question }: OrderButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const restart = useMutation(FleetService.method.restartPart);
  const ordered = useMutation(FleetService.method.orderPart);
  const clear = useMutation(FleetService.method.clearQuarantine);
  const [mutation, run] = (
    {
      'restart server': [restart, () => restart.mutate({ partId })],
      'restart agent': [ordered, () => ordered.mutate({ partId, kind: OrderKind.RESTART_AGENT })],
      reboot: [ordered, () => ordered.mutate({ partId, kind: OrderKind.REBOOT })],
      'clear quarantine': [clear, () => clear.mutate({ partId })],
    } as const
  )[order];
  const verb = text.replace(' …', '');
  return (
    <>
      <button
        type="button"
        className="button button-small condition-button"
        disabled={mutation.isPending || mutation.isSuccess}
        onClick={() => setAsking(true)}
      >
        {mutation.isSuccess ? 'Ordered' : text}
      </button>
      {mutation.error && <FailureNote error={mutation.error} />}
      <ConfirmDialog
        title={`${verb}: ${isolateText(subjectName)}?`}
        text={question}
        verb={verb}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={run}
      />
    </>
  );
}
