import { useQuery } from '@tanstack/react-query';
import type { JsonSchema } from './config-schema.ts';

/** The schema of the configuration is a separate file of the app, because only the editor needs it. */
export const useConfigSchema = () =>
  useQuery({
    queryKey: ['config-schema'],
    staleTime: Infinity,
    queryFn: async (): Promise<JsonSchema> =>
      (await import('@platform/contract/gen/config.schema.json')).default as JsonSchema,
  });
