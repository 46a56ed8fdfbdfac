import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, createConnectQueryKey, useMutation, useTransport } from '@connectrpc/connect-query';
import { type BulkOperation, BulkService } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isAbort } from '@platform/kit';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ProgressBar } from '../../../ui/badges.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { pagesKey } from '../../../ui/paged-list.tsx';
import { bulkText } from './bulk.ts';
import { formatGrouped } from '../../../ui/quantities.ts';

interface BulkProgressProps {
  operation: BulkOperation;
  /** Machines that change before the user lets the rest follow. */
  first: number;
  /** No list shows the changed machines any more. */
  areGone: boolean;
  onClose: () => void;
}

/** Changes the first machines, then the rest once the user wants it. Closing pauses it; it can be stopped for good. */
export function BulkProgress({ operation, first, areGone, onClose }: BulkProgressProps) {
  const [wanted, setWanted] = useState<'first' | 'nothing' | 'rest'>('first');
  const { now, error } = useBulkRun({
    operation,
    most: wanted === 'first' ? first : 100,
    isOn: wanted !== 'nothing',
    isOnce: wanted === 'first',
    onPause: () => setWanted('nothing'),
  });
  const stop = useMutation(BulkService.method.stopBulkOperation);
  const shown = stop.data?.operation ?? now;
  const { waiting, done, failed, number, stoppedOn } = shown;
  const whole = operation.waiting;
  const isOver = waiting === 0 || stoppedOn !== undefined;
  return (
    <div className="stack">
      <ProgressBar share={whole === 0 ? 1 : (whole - waiting) / whole} label="Machines tried" />
      <p role="status">{bulkText(shown)}</p>
      {(error ?? stop.error) && <FailureNote error={error ?? stop.error} />}
      <p className="soft">
        {(failed > 0 || !areGone) && (
          <Link to="/machines" search={{ q: `operation:${number}${failed > 0 ? '/failed' : ''}` }} onClick={onClose}>
            {failed > 0 ? `Show the ${formatGrouped(failed)} that failed` : 'Show these machines'}
          </Link>
        )}
        {isOver ? '' : `${failed > 0 || !areGone ? '. ' : ''}Closing this pauses it: the command line can continue it.`}
      </p>
      <div className="dialog-footer">
        {!isOver && (
          <button
            type="button"
            className="button"
            onClick={() => {
              setWanted('nothing');
              stop.mutate({ id: operation.id });
            }}
          >
            Stop
          </button>
        )}
        {!isOver && wanted === 'nothing' && (
          <button type="button" className="button button-main" onClick={() => setWanted('rest')}>
            Continue with {formatGrouped(waiting)}
          </button>
        )}
        {isOver && (
          <button type="button" className="button button-main" onClick={onClose}>
            {done === whole ? 'Done' : 'Close'}
          </button>
        )}
      </div>
    </div>
  );
}

const facetsKey = createConnectQueryKey({ schema: FleetService.method.listMachineFacets, cardinality: 'finite' });

interface RunOptions {
  operation: BulkOperation;
  most: number;
  isOn: boolean;
  /** One call, then a pause. */
  isOnce: boolean;
  onPause: () => void;
}

/** Repeats the call that changes the next machines. An error pauses it. */
function useBulkRun({ operation, most, isOn, isOnce, onPause }: RunOptions) {
  const transport = useTransport();
  const queries = useQueryClient();
  const [{ now, error }, setState] = useState<{ now: BulkOperation; error: unknown }>({ now: operation, error: null });
  useEffect(() => {
    if (!isOn) return undefined;
    const end = new AbortController();
    const method = BulkService.method.runBulkOperation;
    const work = async (): Promise<void> => {
      for (let waiting = 1; waiting > 0 && !end.signal.aborted;) {
        const request = create(method.input, { id: operation.id, most });
        const { operation: next = operation } = await callUnaryMethod(transport, method, request, {
          signal: end.signal,
        });
        setState({ now: next, error: null });
        void queries.invalidateQueries({ queryKey: pagesKey(FleetService.method.listMachines) });
        void queries.invalidateQueries({ queryKey: facetsKey });
        waiting = next.stoppedOn || isOnce ? 0 : next.waiting;
      }
      if (!end.signal.aborted) onPause();
    };
    work().catch((problem: unknown) => {
      if (isAbort(problem) || end.signal.aborted) return;
      setState((before) => ({ ...before, error: problem }));
      onPause();
    });
    return () => end.abort();
  }, [transport, queries, operation.id, most, isOn, isOnce]);
  return { now, error };
}
