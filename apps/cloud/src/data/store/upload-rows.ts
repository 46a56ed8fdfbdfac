import type { Box } from '../rules/manifest.ts';

/** Where and by what something was captured. */
export type Origin = {
  orgId: string;
  locationId: string;
  machineId: string | null;
  machineName: string;
  partId: string | null;
  partName: string;
  componentType: string;
  componentName: string;
  methodName: string;
  methodParameters: { [key: string]: unknown } | null;
  tags: readonly string[];
};

export type Upload = Origin & {
  fileName: string;
  fileExt: string;
  mimeType: string;
  timeRequestedUs: number;
  timeReceivedUs: number;
  datasetIds: readonly string[];
  boxes: readonly Omit<Box, 'id'>[];
  classifications: readonly { label: string; confidence: number | null }[];
  /** Those of `tags` that are no labels. */
  captureTags: readonly string[];
  /** Bytes that a dataset has already become no second image there: their labels and boxes are added. Not for machines. */
  isMerged: boolean;
  /**
   * What makes a repeated upload, whose answer got lost, the same datum as the first: the id that the sender chose, or the
   * capture itself, for machines. Undefined: every upload is a new datum.
   */
  repeats: { is: 'upload'; id: string } | { is: 'capture' } | undefined;
};

export type Reading = Origin & { payload: { [key: string]: unknown }; timeRequestedUs: number; timeReceivedUs: number };

export const originColumns = (of: Origin) => ({
  orgId: of.orgId,
  locationId: of.locationId,
  machineId: of.machineId,
  machineName: of.machineName,
  partId: of.partId,
  partName: of.partName,
  componentType: of.componentType,
  componentName: of.componentName,
  methodName: of.methodName,
  methodParameters: of.methodParameters ? JSON.stringify(of.methodParameters) : null,
  tags: [...new Set(of.tags)],
});
