import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useMutation } from '@connectrpc/connect-query';
import { type Condition, ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { useState } from 'react';
import { FormDialog } from '../../ui/dialogs.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { useClock } from '../../ui/time.tsx';
import { useConditionsAgain } from './condition-query.ts';
import { muteSpans } from './condition-words.ts';

interface MuteDialogProps {
  /** Words for what is muted. */
  title: string;
  condition: Condition;
  /** All of its kind, also those that begin later. */
  ofAll: boolean;
  onClose: () => void;
}

/** The row that had the focus is gone. */
function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>('#content h1');
  if (!heading || document.activeElement !== document.body) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** Asks why and until when. */
export function MuteDialog({ title, condition, ofAll, onClose }: MuteDialogProps) {
  const clock = useClock();
  const again = useConditionsAgain();
  const [reason, setReason] = useState('');
  const [span, setSpan] = useState<string>('24');
  const mute = useMutation(ConditionService.method.muteCondition, {
    onSuccess: async () => {
      onClose();
      await again();
      requestAnimationFrame(focusHeading);
    },
  });
  const ms = muteSpans.find(({ value }) => value === span)?.ms ?? 0;
  return (
    <FormDialog
      title={`Mute: ${title}`}
      lead={
        ofAll
          ? 'All of this kind are listed apart until then, also those that begin later.'
          : 'It is listed apart until then, also if it ends and begins again.'
      }
      verb="Mute"
      isDisabled={reason.trim() === '' || mute.isPending}
      error={mute.error}
      onSubmit={() =>
        mute.mutate({ id: condition.id, reason: reason.trim(), ofAll, until: timestampFromMs(clock.wall() + ms) })
      }
      onClose={onClose}
    >
      <TextField label="Reason" value={reason} onChange={setReason} maxLength={300} isFocused />
      <SelectField label="For" value={span} options={muteSpans} onChange={setSpan} />
    </FormDialog>
  );
}
