import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import type { Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useEffectEvent, useRef } from 'react';
import type { ConfigProblem } from '../view/config-problems.ts';
import type { JsonSchema } from '../view/config-schema.ts';
import { findRange } from '../view/json-path.ts';
import type { JsonPath, TextRange } from '../view/json-path.ts';
import { schemaHints } from './schema-hints.ts';
import { theme } from './theme.ts';

/** Underlines only the first line of an object that spans many. */
const firstLine = (text: string, { from, to }: TextRange): TextRange => {
  const end = text.indexOf('\n', from);
  return { from, to: end > from ? Math.min(to, end) : to };
};

interface ConfigEditorProps {
  /** The initial text; a new `key` of the component resets it. */
  initial: string;
  schema: JsonSchema;
  problems: readonly ConfigProblem[];
  /** Puts the cursor there whenever it is a new object. */
  target: { path: JsonPath } | undefined;
  onChange: (text: string) => void;
  onSave: () => void;
}

interface EditorEvents {
  onChange: (text: string) => void;
  onSave: () => void;
}
const extensionsOf = (schema: JsonSchema, { onChange, onSave }: EditorEvents): Extension => [
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
  schemaHints(schema),
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
  EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
];

const severities = { bad: 'error', warn: 'warning' } as const;

const diagnosticOf = (text: string, { place, path, tone, message, remedy }: ConfigProblem): Diagnostic => ({
  ...firstLine(text, place ?? findRange(text, path)),
  severity: tone === 'bad' || tone === 'warn' ? severities[tone] : 'info',
  message: [message, remedy].filter(Boolean).join(' '),
});

export function ConfigEditor({ initial, schema, problems, target, onChange, onSave }: ConfigEditorProps) {
  const holder = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const changed = useEffectEvent(onChange);
  const save = useEffectEvent(onSave);

  useEffect(() => {
    if (holder.current === null) return undefined;
    const extensions = extensionsOf(schema, { onChange: (text) => changed(text), onSave: () => save() });
    const view = new EditorView({
      parent: holder.current,
      state: EditorState.create({ doc: initial, extensions }),
    });
    editor.current = view;
    return () => view.destroy();
  }, [initial, schema]);

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
    view.focus();
  }, [target]);

  return <div className="editor" ref={holder} />;
}
