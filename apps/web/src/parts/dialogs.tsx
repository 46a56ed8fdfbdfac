import { AlertDialog, Dialog } from 'radix-ui';
import type { ReactNode } from 'react';
import { CrossIcon } from './icons.tsx';
import { FailureNote } from './messages.tsx';

interface ModalDialogProps {
  title: string;
  /** One sentence under the title. */
  lead?: string;
  isOpen: boolean;
  onClose: () => void;
  isWide?: boolean;
  children: ReactNode;
}

/** A dialog with a title and a close button. */
export function ModalDialog({ title, lead, isOpen, onClose, isWide = false, children }: ModalDialogProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className={isWide ? 'dialog dialog-wide' : 'dialog'}
          {...(lead ? {} : { 'aria-describedby': undefined })}
        >
          <div className="row">
            <Dialog.Title>{title}</Dialog.Title>
            <Dialog.Close className="button button-quiet button-small button-icon push" aria-label="Close">
              <CrossIcon />
            </Dialog.Close>
          </div>
          {lead && <Dialog.Description className="soft">{lead}</Dialog.Description>}
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface FormDialogProps {
  title: string;
  lead?: string;
  /** The text of the button that submits. */
  verb: string;
  isDisabled: boolean;
  /** The failure of the last submission. */
  error?: unknown;
  onSubmit: () => void;
  onClose: () => void;
  isWide?: boolean;
  children: ReactNode;
}

/** A form in a dialog: its fields, the failure of the last submission, Cancel, and the button that submits. */
export const FormDialog = (props: FormDialogProps) => {
  const { title, lead, verb, isDisabled, error, onSubmit, onClose, isWide = false, children } = props;
  return (
    <ModalDialog title={title} {...(lead === undefined ? {} : { lead })} isOpen onClose={onClose} isWide={isWide}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        {error ? <FailureNote error={error} /> : null}
        <div className="dialog-footer">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button button-main" disabled={isDisabled}>
            {verb}
          </button>
        </div>
      </form>
    </ModalDialog>
  );
};

interface ConfirmDialogProps {
  title: string;
  text: string;
  /** The verb on the button. */
  verb: string;
  isDangerous?: boolean;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => void;
}

/** Asks for confirmation before an action that cannot be undone. */
export function ConfirmDialog({
  title,
  text,
  verb,
  isDangerous = false,
  isOpen,
  onClose,
  onConfirm,
}: ConfirmDialogProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <AlertDialog.Content className="dialog">
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description className="soft">{text}</AlertDialog.Description>
          <div className="dialog-footer">
            <AlertDialog.Cancel className="button">Cancel</AlertDialog.Cancel>
            <AlertDialog.Action
              className={isDangerous ? 'button button-danger' : 'button button-main'}
              onClick={onConfirm}
            >
              {verb}
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
