import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The editor takes its colours from the page, so it follows light and dark mode. */
const editorTheme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface-1)', fontSize: '13px', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--text)', padding: '12px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent) !important',
  },
  '.cm-gutters': {
    backgroundColor: 'var(--surface-1)',
    color: 'var(--text-soft)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--surface-2) 60%, transparent)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--surface-2)', border: '0', color: 'var(--text-soft)' },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface-1)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow-2)',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete > ul > li': { padding: '4px 8px !important' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft) !important',
    color: 'var(--accent) !important',
  },
  '.cm-completionDetail': { color: 'var(--text-soft)', fontStyle: 'normal' },
  '.cm-completionInfo': { padding: '8px 12px !important', maxWidth: '360px' },
  '.cm-diagnostic': { padding: '6px 12px', borderLeftWidth: '4px' },
  '.cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '.cm-collapsedLines': {
    color: 'var(--text-soft)',
    background: 'var(--surface-2) !important',
    padding: '4px 12px',
  },
});

const syntaxColors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--code-key)' },
  { tag: tags.string, color: 'var(--code-text)' },
  { tag: tags.number, color: 'var(--code-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--code-word)' },
]);

export const theme = [editorTheme, syntaxHighlighting(syntaxColors)];
