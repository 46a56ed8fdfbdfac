import { AlertDialog, Dialog } from 'radix-ui';
import type { ReactNode } from 'react';
import { CrossIcon } from './icons.tsx';

interface SheetProps {
  title: string;
  /** One sentence under the title. */
  lead?: string;
  isOpen: boolean;
  onClose: () => void;
  isWide?: boolean;
  children: ReactNode;
}

/** A dialog with a title and a way out. */
export function Sheet({ title, lead, isOpen, onClose, isWide = false, children }: SheetProps) {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
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

/** The end of a form in a dialog: Cancel, and the verb that submits it. */
export const FormFoot = ({ verb, isDisabled, onClose }: { verb: string; isDisabled: boolean; onClose: () => void }) => (
  <div className="dialog-foot">
    <button type="button" className="button" onClick={onClose}>
      Cancel
    </button>
    <button type="submit" className="button button-main" disabled={isDisabled}>
      {verb}
    </button>
  </div>
);

interface ConfirmProps {
  title: string;
  text: string;
  /** The verb on the button. */
  verb: string;
  isDangerous?: boolean;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => void;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, text, verb, isDangerous = false, isOpen, onClose, onConfirm }: ConfirmProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="veil" />
        <AlertDialog.Content className="dialog">
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description className="soft">{text}</AlertDialog.Description>
          <div className="dialog-foot">
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
