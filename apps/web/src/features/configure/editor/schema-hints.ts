import { autocompletion } from '@codemirror/autocomplete';
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import { hoverTooltip } from '@codemirror/view';
import type { Tooltip } from '@codemirror/view';
import { firstValue, createHint, keysAt, schemasAt } from '../schema/config-schema.ts';
import type { Hint, JsonSchema } from '../schema/config-schema.ts';
import { cursorAt } from '../schema/json-path.ts';
import type { Cursor } from '../schema/json-path.ts';

/** Description, type, default, unit and limits of one key. */
function card(hint: Hint): HTMLElement {
  const box = document.createElement('div');
  box.className = 'hint-card';
  const head = document.createElement('div');
  const name = document.createElement('strong');
  name.textContent = hint.key;
  head.append(name, ` ${hint.type}${hint.isRequired ? ', required' : ''}${hint.isSecret ? ', secret' : ''}`);
  const text = document.createElement('div');
  text.textContent = hint.description;
  const facts = [
    hint.default !== undefined && `default ${hint.default}${hint.unit ? ` ${hint.unit}` : ''}`,
    hint.unit && hint.default === undefined && `in ${hint.unit}`,
    hint.limits,
    hint.values.length > 0 &&
      !hint.type.startsWith('boolean') &&
      `one of ${hint.values.map((one) => JSON.stringify(one)).join(', ')}`,
    hint.effect,
  ].filter(Boolean);
  const foot = document.createElement('div');
  foot.className = 'soft';
  foot.textContent = facts.join(' · ');
  box.append(head, text, ...(facts.length > 0 ? [foot] : []));
  return box;
}

function hover(schema: JsonSchema, text: string, position: number): Tooltip | null {
  const spot = cursorAt(text, position);
  const key = spot?.path.at(-1);
  if (spot === undefined || spot.at !== 'key' || typeof key !== 'string') return null;
  const schemas = schemasAt(schema, spot.path);
  if (schemas.length === 0) return null;
  const isRequired = schemasAt(schema, spot.path.slice(0, -1)).some((one) => one.required?.includes(key));
  return {
    pos: spot.place.from,
    end: spot.place.to,
    above: true,
    create: () => ({ dom: card(createHint(key, schemas, isRequired)) }),
  };
}

function keyOptions(schema: JsonSchema, text: string, spot: Cursor): Completion[] {
  const hasValue = /^\s*:/.test(text.slice(spot.place.to));
  const isFollowed = /^\s*"/.test(text.slice(spot.place.to));
  const current = spot.path.at(-1);
  return keysAt(schema, spot.path.slice(0, -1))
    .filter((hint) => hint.key === current || !spot.present.includes(hint.key))
    .map((hint) => ({
      label: JSON.stringify(hint.key),
      displayLabel: hint.key,
      detail: hint.type,
      type: 'property',
      apply: hasValue
        ? JSON.stringify(hint.key)
        : `${JSON.stringify(hint.key)}: ${firstValue(hint)}${isFollowed ? ',' : ''}`,
      info: () => card(hint),
    }));
}

const valueOptions = (schema: JsonSchema, spot: Cursor): Completion[] =>
  [...new Set(createHint('', schemasAt(schema, spot.path)).values)].map((value) => ({
    label: JSON.stringify(value),
    type: 'constant',
  }));

function complete(schema: JsonSchema, context: CompletionContext): CompletionResult | null {
  const text = context.state.doc.toString();
  const spot = cursorAt(text, context.pos);
  if (spot === undefined) return null;
  const isWritten = spot.place.to > spot.place.from;
  if (!context.explicit && !isWritten) return null;
  const options = spot.at === 'key' ? keyOptions(schema, text, spot) : valueOptions(schema, spot);
  return options.length === 0 ? null : { from: spot.place.from, to: Math.max(spot.place.to, context.pos), options };
}

/** Explains keys under the pointer and completes keys and values at the cursor. */
export const schemaHints = (schema: JsonSchema): Extension => [
  hoverTooltip((view, position) => hover(schema, view.state.doc.toString(), position)),
  autocompletion({ override: [(context) => complete(schema, context)], icons: false }),
];
