import { AlertDialog, Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { CrossIcon } from './icons.tsx';
import { FailureNote } from './messages.tsx';

/** The element that has the focus; of a menu, which closes, its button. */
function focused(): Element | null {
  const menu = document.activeElement?.closest('[role="menu"]')?.getAttribute('aria-labelledby');
  return menu ? document.getElementById(menu) : document.activeElement;
}

/** Focuses the element, or what is around it if it cannot be focused or is gone. */
function focusAt(element: Element | null): void {
  for (let at = element; at instanceof HTMLElement && document.activeElement === document.body;) {
    at.focus({ preventScroll: true });
    at = at.parentElement?.closest('[tabindex]') ?? null;
  }
}

/** For the content of a dialog: what had the focus before gets it back. Radix gives it to triggers alone, ours have none. */
function useFocusReturn(): (event: Event) => void {
  const [before] = useState(focused);
  return (event) => {
    event.preventDefault();
    focusAt(before?.isConnected ? before : document.getElementById('content'));
  };
}

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
        <ModalContent title={title} lead={lead} isWide={isWide}>
          {children}
        </ModalContent>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ModalContentProps {
  title: string;
  lead: string | undefined;
  isWide: boolean;
  children: ReactNode;
}
function ModalContent({ title, lead, isWide, children }: ModalContentProps) {
  const onCloseAutoFocus = useFocusReturn();
  return (
    <Dialog.Content
      className={isWide ? 'dialog dialog-wide' : 'dialog'}
      onCloseAutoFocus={onCloseAutoFocus}
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
  );
}

interface FormDialogProps {
  title: string;
  lead?: string;
  /** The text of the button that submits. */
  verb: string;
  isDangerous?: boolean;
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
  const { title, lead, verb, isDangerous, isDisabled, error, onSubmit, onClose, isWide = false, children } = props;
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
          <button
            type="submit"
            className={isDangerous ? 'button button-danger' : 'button button-main'}
            disabled={isDisabled}
          >
            {verb}
          </button>
        </div>
      </form>
    </ModalDialog>
  );
};

/** `onFocusOutside` of a popover: it stays open while a dialog that was opened from it has the focus. */
export const staysBehindDialog = (event: Event): void => {
  if (event.target instanceof Element && event.target.closest('[role="alertdialog"]')) event.preventDefault();
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
export function ConfirmDialog({ isOpen, onClose, ...content }: ConfirmDialogProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <ConfirmContent {...content} />
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

function ConfirmContent(props: Omit<ConfirmDialogProps, 'isOpen' | 'onClose'>) {
  const { title, text, verb, isDangerous = false, onConfirm } = props;
  const onCloseAutoFocus = useFocusReturn();
  return (
    <AlertDialog.Content className="dialog" onCloseAutoFocus={onCloseAutoFocus}>
      <AlertDialog.Title>{title}</AlertDialog.Title>
      <AlertDialog.Description className="soft">{text}</AlertDialog.Description>
      <div className="dialog-footer">
        <AlertDialog.Cancel className="button">Cancel</AlertDialog.Cancel>
        <AlertDialog.Action className={isDangerous ? 'button button-danger' : 'button button-main'} onClick={onConfirm}>
          {verb}
        </AlertDialog.Action>
      </div>
    </AlertDialog.Content>
  );
}
