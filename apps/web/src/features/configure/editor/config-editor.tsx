import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import type { Diagnostic } from '@codemirror/lint';
import { Annotation, Compartment, EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useEffectEvent, useRef } from 'react';
import type { ConfigProblem } from '../config-problems.ts';
import type { JsonSchema } from '../schema/config-schema.ts';
import { findRange } from '../schema/json-path.ts';
import type { JsonPath, TextRange } from '../schema/json-path.ts';
import { schemaHints } from './schema-hints.ts';
import { theme } from './theme.ts';

/** Underlines only the first line of an object that spans many. */
const firstLine = (text: string, { from, to }: TextRange): TextRange => {
  const end = text.indexOf('\n', from);
  return { from, to: end > from ? Math.min(to, end) : to };
};

interface ConfigEditorProps {
  /** What its history begins with: what was shown before the editor came can be undone. */
  first: string;
  /** Text that replaces what is in the editor, which can be undone; each object does it once. */
  shown: { readonly text: string };
  schema: JsonSchema;
  problems: readonly ConfigProblem[];
  /** Selects this whenever it is a new object; the focus stays where it is if it is quiet. */
  target: { path: JsonPath; isQuiet?: true } | undefined;
  onChange: (text: string) => void;
  onSave: () => void;
  /** Whether what it replaces has the focus, or was removed with it. */
  hasFocus: { readonly current: boolean };
}

/** An editor that comes late must not take keys that are meant for a field. */
const isFocusFree = (): boolean => document.activeElement === null || document.activeElement === document.body;

interface EditorEvents {
  onChange: (text: string) => void;
  onSave: () => void;
}
const extensionsOf = ({ onChange, onSave }: EditorEvents): Extension => [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  EditorState.tabSize.of(2),
  json(),
  hints.of([]),
  theme,
  keymap.of([
    { key: 'Mod-s', preventDefault: true, run: () => (onSave(), true) },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...defaultKeymap,
  ]),
  EditorView.contentAttributes.of({ 'aria-label': 'Configuration as JSON', tabindex: '0' }),
  EditorView.updateListener.of(
    ({ docChanged, state, transactions }) =>
      docChanged && !transactions.some((one) => one.annotation(fromOutside)) && onChange(state.doc.toString()),
  ),
];

/** Replaced alone when another schema comes: an editor that began anew would lose what was typed. */
const hints = new Compartment();

/** Marks a change that the page made: it knows the text. */
const fromOutside = Annotation.define<true>();

/** What differs, so that the cursor and the marks of everything else stay. */
function differenceOf(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

const severities = { bad: 'error', warn: 'warning' } as const;

const diagnosticOf = (text: string, { place, path, tone, message, remedy }: ConfigProblem): Diagnostic => ({
  ...firstLine(text, place ?? findRange(text, path)),
  severity: tone === 'bad' || tone === 'warn' ? severities[tone] : 'info',
  message: [message, remedy].filter(Boolean).join(' '),
});

export function ConfigEditor({
  first,
  shown,
  schema,
  problems,
  target,
  onChange,
  onSave,
  hasFocus,
}: ConfigEditorProps) {
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const changed = useEffectEvent(onChange);
  const save = useEffectEvent(onSave);
  const initial = useEffectEvent(() => first);

  useEffect(() => {
    if (holder.current === null) return undefined;
    const extensions = extensionsOf({ onChange: (text) => changed(text), onSave: () => save() });
    const view = new EditorView({
      parent: holder.current,
      state: EditorState.create({ doc: initial(), extensions }),
    });
    editor.current = view;
    if (hasFocus.current && isFocusFree()) view.focus();
    return () => view.destroy();
  }, [hasFocus]);

  useEffect(() => editor.current?.dispatch({ effects: hints.reconfigure(schemaHints(schema)) }), [schema]);

  useEffect(() => {
    const view = editor.current;
    const before = view?.state.sliceDoc() ?? shown.text;
    if (before === shown.text) return;
    view?.dispatch({
      changes: differenceOf(before, shown.text),
      annotations: fromOutside.of(true),
      userEvent: 'input',
    });
  }, [shown]);

  useEffect(() => {
    const view = editor.current;
    if (view === null) return;
    const text = view.state.doc.toString();
    const diagnostics = problems.map((problem) => diagnosticOf(text, problem));
    const inside = diagnostics.filter(({ to }) => to <= text.length);
    view.dispatch(setDiagnostics(view.state, inside));
  }, [problems]);

  useEffect(() => {
    const view = editor.current;
    if (view === null || target === undefined) return;
    const { from, to } = findRange(view.state.doc.toString(), target.path);
    view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
    if (target.isQuiet !== true) view.focus();
  }, [target]);

  return <div className="editor" ref={holder} />;
}
