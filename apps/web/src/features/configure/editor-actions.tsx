import { useLostSince } from '../../ui/contact.tsx';

interface EditorActionsProps {
  isDirty: boolean;
  /** Whether what a save would do is known. */
  isReady?: boolean;
  onFormat: () => void;
  onDiscard: () => void;
  onReview: () => void;
}
export function EditorActions({ isDirty, isReady = true, onFormat, onDiscard, onReview }: EditorActionsProps) {
  const isLost = useLostSince() !== undefined;
  return (
    <div className="row config-panel-actions">
      <button type="button" className="button" onClick={onFormat}>
        Tidy up
      </button>
      <button type="button" className="button" disabled={!isDirty} onClick={onDiscard}>
        Discard draft
      </button>
      <span className="soft small push">{isDirty && isLost && 'Saving waits for the server.'}</span>
      <button type="button" className="button button-main" disabled={!isDirty || isLost || !isReady} onClick={onReview}>
        Review and save …
      </button>
    </div>
  );
}
