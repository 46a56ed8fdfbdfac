import { serverAttributes } from '@platform/contract/machine-server/attributes';
import { z } from 'zod';

/** What platform-server reports about the attributes of its components and services. */
export const serverSchemas = () => ({
  models: serverAttributes.map(({ kind, type, model, title, description, attributes, example }) => {
    const { $schema: _, ...schema } = z.toJSONSchema(attributes, { io: 'input' });
    return { kind, type, model, title, description, attributes: { ...schema, examples: [example] } };
  }),
});
