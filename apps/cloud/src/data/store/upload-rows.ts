import type { ImageContent } from '../../images/rules/image-content.ts';
import type { Capture } from '../../database/training-schema.ts';
import type { Box } from '../rules/manifest.ts';

/** Where a datum was captured, and by which resource. */
export type Origin = Omit<Capture, 'tags'> & {
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
  /** Subset of `tags` that are not labels. */
  captureTags: readonly string[];
  /**
   * Merge into an image of the dataset with the same bytes instead of adding one: adds labels and boxes. Not for
   * machines.
   */
  isMerged: boolean;
  /** Refuse a file that cannot be used as an image; otherwise it is stored and measured later. */
  isImagesOnly: boolean;
  /** What the file was measured as. */
  content?: ImageContent;
  /**
   * Identifies a repeated upload whose response was lost: by the sender's ID or, for machines, by the capture itself.
   * Undefined: every upload creates a datum.
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
