import './json-side.css';
import { useRef, useState, useSyncExternalStore } from 'react';
import type { ComponentProps } from 'react';
import type { ConfigEditor } from './editor/config-editor.tsx';
import { LoadedLater } from '../../ui/loaded-later.tsx';

const loadEditor = () => import('./editor/config-editor.tsx');

/** Form and JSON stand side by side, as in pages.css. */
const wide = '(min-width: 1081px)';
function watchWidth(changed: () => void): () => void {
  const query = window.matchMedia(wide);
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}
const useIsWide = (): boolean => useSyncExternalStore(watchWidth, () => window.matchMedia(wide).matches);

/**
 * The editor, fetched when the user turns to the JSON, or there is something to mark in it; it stays from then on, with its
 * history. Until then its text stands there.
 */
export function JsonSide({ isShown, text, ...editor }: JsonSideProps) {
  const isWide = useIsWide();
  const [wasUsed, setUsed] = useState(false);
  const isUsed = wasUsed || isShown || editor.target !== undefined || (isWide && editor.problems.length > 0);
  if (isUsed && !wasUsed) setUsed(true);
  const use = (): void => setUsed(true);
  const hasFocus = useRef(false);
  return (
    <div
      className="card editor-card"
      onPointerEnter={use}
      onFocus={() => {
        hasFocus.current = true;
        use();
      }}
      // Nothing gets the focus that a text loses when it goes.
      onBlur={({ relatedTarget }) => {
        if (relatedTarget !== null) hasFocus.current = false;
      }}
    >
      {isUsed ? (
        <LoadedLater name="editor" load={loadEditor} className="editor" instead={<JsonText text={text} />}>
          {(module) => <module.ConfigEditor {...editor} hasFocus={hasFocus} />}
        </LoadedLater>
      ) : (
        isWide && <JsonText text={text} />
      )}
    </div>
  );
}

interface JsonSideProps extends Omit<ComponentProps<typeof ConfigEditor>, 'hasFocus'> {
  isShown: boolean;
  text: string;
}

/** More than any screen shows; the pointer that scrolls to the rest brings the editor. */
const mostLines = 200;

function firstLines(text: string): string {
  const lines = text.split('\n', mostLines + 1);
  return lines.length > mostLines ? [...lines.slice(0, mostLines), '…'].join('\n') : text;
}

const JsonText = ({ text }: { text: string }) => (
  // The focus, which only a region that scrolls may need, brings the editor.
  <pre className="json-text" tabIndex={0} aria-label="Configuration as JSON" role="region">
    {firstLines(text)}
  </pre>
);
