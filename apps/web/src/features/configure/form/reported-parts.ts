// What "Add" offers beside its own parts: the components, services and modules that the machine server reported.
import { lastWord } from '@platform/contract/machine-server/resources';
import { fieldsOf } from './form-rows.ts';
import { append, freeName, nameOfType } from '../config-parts.ts';
import type { Part } from '../config-parts.ts';
import { branches } from '../schema/config-schema.ts';
import type { DrawnModel, DrawnSchemas } from '../schema/attribute-schemas.ts';

export interface ReportedPart extends Part {
  /** Type and model. */
  readonly name: string;
}

export function reportedParts({ models, module }: DrawnSchemas): ReportedPart[] {
  const parts = models.map(partOf);
  if (module !== undefined)
    parts.push({
      title: 'Module',
      help: 'A program that adds components and services.',
      name: 'modules',
      add: (config) => append(config, 'modules', { name: freeName(config, 'module') }),
    });
  return parts;
}

const partOf = (model: DrawnModel): ReportedPart => ({
  title: model.title,
  help: model.description,
  name: [model.type, model.model].filter(Boolean).join(' · '),
  add: (config) => {
    const attributes: Record<string, unknown> = { ...model.example };
    // A name that an example leaves open is that of the first entry of its type.
    for (const { key, reference } of fieldsOf(branches(model.attributes, model.attributes), model.attributes)) {
      const name = reference === undefined ? undefined : nameOfType(config, reference);
      if (attributes[key] === '' && name !== undefined) attributes[key] = name;
    }
    return append(config, model.kind === 'component' ? 'components' : 'services', {
      name: freeName(config, stemOf(model)),
      // A triple such as acme:component:camera is written as public clients write it.
      [model.type.includes(':') ? 'api' : 'type']: model.type,
      ...(model.model !== '' && { model: model.model }),
      attributes,
    });
  },
});

/** Names may have letters, digits, _, - and . */
const stemOf = ({ type }: DrawnModel): string => lastWord(type).replaceAll(/[^A-Za-z0-9_.-]/g, '-') || 'entry';
