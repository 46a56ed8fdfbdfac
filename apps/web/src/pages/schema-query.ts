import { useQuery } from '@tanstack/react-query';
import type { JsonSchema } from '../view/config-schema.ts';

/** The schema of the configuration comes with the app, in a file of its own that only the editor needs. */
export const useConfigSchema = () =>
  useQuery({
    queryKey: ['config-schema'],
    staleTime: Infinity,
    queryFn: async (): Promise<JsonSchema> =>
      (await import('@platform/contract/gen/config.schema.json')).default as JsonSchema,
  });
