import { json } from '@codemirror/lang-json';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { theme } from './theme.ts';

/** Shows the changes from one text to another, with unchanged sections folded. */
export function ConfigDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (holder.current === null) return undefined;
    const view = new EditorView({
      parent: holder.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          json(),
          theme,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            highlightChanges: false,
            syntaxHighlightDeletions: false,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [before, after, label]);
  return <div className="editor editor-diff" ref={holder} />;
}
