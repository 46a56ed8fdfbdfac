import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { FormDialog } from '../../ui/dialogs.tsx';
import type { PaletteMachine } from './palette-entries.ts';

interface RestartDialogProps {
  machine: PaletteMachine;
  onClose: () => void;
  /** The order is stored; the machine does it with its next check. */
  onOrdered: () => void;
}

export function RestartDialog({ machine, onClose, onOrdered }: RestartDialogProps) {
  const restart = useMutation(FleetService.method.restartPart, { onSuccess: onOrdered });
  return (
    <FormDialog
      title={`Restart the machine server of ${machine.name}?`}
      lead="Its cameras, sensors and models stop for some seconds. The part status of the machine says when it is done."
      verb={restart.isPending ? 'Ordering …' : 'Restart server'}
      isDisabled={restart.isPending}
      error={restart.error}
      onSubmit={() => restart.mutate({ partId: machine.partId })}
      onClose={onClose}
    >
      {null}
    </FormDialog>
  );
}
