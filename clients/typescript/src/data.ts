import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { BinaryData, DataService, FilterSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { type DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { sleep, wall } from './clock.ts';
import { PlatformApiError } from './errors.ts';
import { eitherSignal, webCrypto } from './runtime.ts';

/** Selects data: all given fields must match. */
export type Filter = MessageInitShape<typeof FilterSchema>;

/** A bounding box; edges as fractions of the image's width and height, 0 ≤ min < max ≤ 1. */
export interface Box {
  readonly label: string;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

export interface ImageUpload {
  /** Content of the file: JPEG, PNG or WebP. */
  readonly bytes: Uint8Array;
  /** For example jpg; determines the mime type if that is not given. */
  readonly fileExtension: string;
  readonly fileName?: string;
  readonly mimeType?: string;
  /** Labels of the whole image. */
  readonly tags?: readonly string[];
  readonly boxes?: readonly Box[];
  /** Milliseconds since 1970. Default: now. */
  readonly takenAt?: number;
  /** Idempotency key: the server stores repeated uploads with the same ID once. Default: a new ID. */
  readonly uploadId?: string;
  /**
   * Store other files, too; no training uses them. Default: the server refuses all but JPEG, PNG and WebP images of
   * at most 100 megapixels (IMAGE_NOT_USABLE).
   */
  readonly storeAnyFile?: boolean;
}

export interface UploadOptions {
  /** The part that the image belongs to; determines organization and location. Default: those of the first dataset. */
  readonly partId?: string;
  readonly datasetIds?: readonly string[];
  readonly componentName?: string;
  readonly signal?: AbortSignal;
}

export interface UploadManyOptions extends UploadOptions {
  /** Number of concurrent uploads. Default: 4. */
  readonly concurrency?: number;
  /** Called after each image with the number of finished images. */
  readonly onProgress?: (done: number) => void;
  /**
   * Called for an image that the server refuses, because it cannot be used; the others go on, and its ID is
   * empty. Default: such an image ends the upload.
   */
  readonly onRefused?: (image: ImageUpload, error: PlatformApiError) => void;
  /** Maximum attempts per image while the server is unreachable or busy. Default: 6. */
  readonly attempts?: number;
}

export interface Page {
  readonly data: BinaryData[];
  /** Cursor of the next page; the page after the last one is empty. */
  readonly last: string;
  readonly count: bigint;
}

/** Captured images: upload, find, tag, add to datasets. */
export class DataClient {
  readonly #data: Client<typeof DataService>;
  readonly #sync: Client<typeof DataSyncService>;

  constructor(data: Client<typeof DataService>, sync: Client<typeof DataSyncService>) {
    this.#data = data;
    this.#sync = sync;
  }

  /**
   * Uploads one image in one call.
   *
   * @returns its binary data ID.
   * @example const id = await client.dataClient.uploadImage({ bytes, fileExtension: 'jpg', tags: ['cup'] }, { partId, datasetIds: [datasetId] })
   */
  async uploadImage(image: ImageUpload, options: UploadOptions): Promise<string> {
    const bboxes = (image.boxes ?? []).map((box) => ({
      label: box.label,
      xMinNormalized: box.xMin,
      yMinNormalized: box.yMin,
      xMaxNormalized: box.xMax,
      yMaxNormalized: box.yMax,
    }));
    const request = {
      metadata: {
        partId: options.partId ?? '',
        componentType: 'camera',
        componentName: options.componentName ?? '',
        methodName: 'GetImages',
        type: DataType.BINARY_SENSOR,
        fileName: image.fileName ?? '',
        fileExtension: image.fileExtension,
        mimeType: image.mimeType ?? '',
        tags: [...(image.tags ?? [])],
        datasetIds: [...(options.datasetIds ?? [])],
        uploadId: image.uploadId ?? (await webCrypto()).randomUUID(),
        imagesOnly: !(image.storeAnyFile ?? false),
      },
      sensorContents: [
        {
          metadata: {
            timeRequested: timestampFromMs(image.takenAt ?? wall()),
            ...(bboxes.length === 0 ? {} : { annotations: { bboxes } }),
          },
          data: { case: 'binary' as const, value: image.bytes },
        },
      ],
    };
    const answer = await this.#sync.dataCaptureUpload(request, options.signal ? { signal: options.signal } : {});
    return answer.binaryDataId || answer.fileId;
  }

  /**
   * Uploads many images concurrently and retries calls after transient failures.
   * The first permanent failure ends the upload, except for what `onRefused` takes; images uploaded before it remain.
   *
   * @returns the binary data IDs in the order of the images.
   */
  async uploadImages(
    images: Iterable<ImageUpload> | AsyncIterable<ImageUpload>,
    options: UploadManyOptions,
  ): Promise<string[]> {
    const ids: string[] = [];
    const stop = new AbortController();
    const signal = eitherSignal(options.signal, stop.signal);
    const source = Symbol.asyncIterator in images ? images[Symbol.asyncIterator]() : images[Symbol.iterator]();
    let taken = 0;
    let done = 0;
    // Takes one image at a time: a source must not receive a second request before it has answered the first.
    let turn: Promise<unknown> = Promise.resolve();
    const take = async (): Promise<{ image: ImageUpload; index: number } | undefined> => {
      const mine = turn.then(() => source.next());
      turn = mine.catch(() => undefined);
      const next = await mine;
      return next.done ? undefined : { image: next.value, index: taken++ };
    };
    const worker = async (): Promise<void> => {
      for (;;) {
        signal.throwIfAborted();
        const next = await take();
        if (!next) return;
        ids[next.index] = await this.#uploadOrRefuse(next.image, { ...options, signal });
        options.onProgress?.(++done);
      }
    };
    const workers = Array.from({ length: options.concurrency ?? 4 }, () =>
      worker().catch((error: unknown) => {
        stop.abort(error);
        throw error;
      }),
    );
    const results = await Promise.allSettled(workers);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) {
      await source.return?.();
      throw signal.reason ?? failed.reason;
    }
    return ids;
  }

  async #uploadOrRefuse(image: ImageUpload, options: UploadManyOptions): Promise<string> {
    try {
      return await this.#uploadPatiently(image, options, options.attempts ?? 6);
    } catch (error) {
      const isRefused = error instanceof PlatformApiError && error.code === 'IMAGE_NOT_USABLE';
      if (!isRefused || !options.onRefused) throw error;
      options.onRefused(image, error);
      return '';
    }
  }

  async #uploadPatiently(image: ImageUpload, options: UploadOptions, attempts: number): Promise<string> {
    // All attempts use the same ID, so the server recognizes a repeated upload.
    const named = {
      ...image,
      takenAt: image.takenAt ?? wall(),
      uploadId: image.uploadId ?? (await webCrypto()).randomUUID(),
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.uploadImage(named, options);
      } catch (error) {
        if (!(error instanceof PlatformApiError) || error.retry !== 'later' || attempt >= attempts) throw error;
        await sleep(Math.random() * Math.min(8000, 250 * 2 ** attempt), options.signal);
        options.signal?.throwIfAborted();
      }
    }
  }

  /** Returns one page of data, newest first. limit 0: the server's default. */
  async binaryDataByFilter(
    filter: Filter,
    options: { limit?: number; last?: string; includeBinary?: boolean } = {},
  ): Promise<Page> {
    const { data, last, count } = await this.#data.binaryDataByFilter({
      dataRequest: { filter, limit: BigInt(options.limit ?? 0), last: options.last ?? '' },
      includeBinary: options.includeBinary ?? false,
    });
    return { data, last, count };
  }

  /** Iterates over all matching data, page by page, without the file contents. */
  async *allBinaryData(filter: Filter): AsyncGenerator<BinaryData, void> {
    let last = '';
    for (;;) {
      const page = await this.binaryDataByFilter(filter, { limit: 100, last });
      if (page.data.length === 0) return;
      yield* page.data;
      last = page.last;
    }
  }

  /** Returns the number of matching files and their total size in bytes. */
  async countBinaryData(filter: Filter): Promise<{ count: number; sizeBytes: number }> {
    const { count, totalSizeBytes } = await this.#data.binaryDataByFilter({ dataRequest: { filter }, countOnly: true });
    return { count: Number(count), sizeBytes: Number(totalSizeBytes) };
  }

  /** Returns one item per ID, in the order of the IDs, with the file contents unless includeBinary is false. */
  async binaryDataByIds(binaryDataIds: readonly string[], includeBinary = true): Promise<BinaryData[]> {
    const { data } = await this.#data.binaryDataByIDs({ binaryDataIds: [...binaryDataIds], includeBinary });
    return data;
  }

  async addBinaryDataToDatasetByIds(binaryDataIds: readonly string[], datasetId: string): Promise<void> {
    await this.#data.addBinaryDataToDatasetByIDs({ binaryDataIds: [...binaryDataIds], datasetId });
  }

  async removeBinaryDataFromDatasetByIds(binaryDataIds: readonly string[], datasetId: string): Promise<void> {
    await this.#data.removeBinaryDataFromDatasetByIDs({ binaryDataIds: [...binaryDataIds], datasetId });
  }

  async addTagsToBinaryDataByIds(tags: readonly string[], binaryDataIds: readonly string[]): Promise<void> {
    await this.#data.addTagsToBinaryDataByIDs({ tags: [...tags], binaryDataIds: [...binaryDataIds] });
  }

  /**
   * @param options - includeClassifications: remove labels that a model predicted, too.
   * @returns the number of removed tags.
   */
  async removeTagsFromBinaryDataByIds(
    tags: readonly string[],
    binaryDataIds: readonly string[],
    options: { includeClassifications?: boolean } = {},
  ): Promise<number> {
    const { deletedCount } = await this.#data.removeTagsFromBinaryDataByIDs({
      tags: [...tags],
      binaryDataIds: [...binaryDataIds],
      includeClassifications: options.includeClassifications ?? false,
    });
    return Number(deletedCount);
  }

  /** Returns the distinct tags in use. */
  async tagsByFilter(filter: Filter): Promise<string[]> {
    return allWords(async (after) => {
      const { tags, truncated } = await this.#data.tagsByFilter({ filter, after });
      return { words: tags, truncated };
    });
  }

  /** Returns the distinct labels that training uses, without capture tags and split: tags. */
  async labelsByFilter(filter: Filter): Promise<string[]> {
    return allWords(async (after) => {
      const { tags, truncated } = await this.#data.tagsByFilter({ filter, after, labelsOnly: true });
      return { words: tags, truncated };
    });
  }

  /** @returns the ID of the box. */
  async addBoundingBoxToImageById(binaryDataId: string, box: Box): Promise<string> {
    const { bboxId } = await this.#data.addBoundingBoxToImageByID({
      binaryDataId,
      label: box.label,
      xMinNormalized: box.xMin,
      yMinNormalized: box.yMin,
      xMaxNormalized: box.xMax,
      yMaxNormalized: box.yMax,
    });
    return bboxId;
  }

  /** Changes the given fields of a box. @throws PlatformApiError BOUNDING_BOX_NOT_FOUND. */
  async updateBoundingBox(binaryDataId: string, bboxId: string, change: Partial<Box>): Promise<void> {
    await this.#data.updateBoundingBox({
      binaryDataId,
      bboxId,
      ...(change.label === undefined ? {} : { label: change.label }),
      ...(change.xMin === undefined ? {} : { xMinNormalized: change.xMin }),
      ...(change.yMin === undefined ? {} : { yMinNormalized: change.yMin }),
      ...(change.xMax === undefined ? {} : { xMaxNormalized: change.xMax }),
      ...(change.yMax === undefined ? {} : { yMaxNormalized: change.yMax }),
    });
  }

  /** Returns the distinct labels of boxes in use. */
  async boundingBoxLabelsByFilter(filter: Filter): Promise<string[]> {
    return allWords(async (after) => {
      const { labels, truncated } = await this.#data.boundingBoxLabelsByFilter({ filter, after });
      return { words: labels, truncated };
    });
  }

  async removeBoundingBoxFromImageById(binaryDataId: string, bboxId: string): Promise<void> {
    await this.#data.removeBoundingBoxFromImageByID({ binaryDataId, bboxId });
  }

  /** @returns the number of deleted files. */
  async deleteBinaryDataByIds(binaryDataIds: readonly string[]): Promise<number> {
    const { deletedCount } = await this.#data.deleteBinaryDataByIDs({ binaryDataIds: [...binaryDataIds] });
    return Number(deletedCount);
  }
}

/** Reads all pages: one response holds a limited number of words, the next one continues after it. */
async function allWords(
  page: (after: string) => Promise<{ words: readonly string[]; truncated: boolean }>,
): Promise<string[]> {
  const all: string[] = [];
  for (let isMore = true; isMore;) {
    const { words, truncated } = await page(all.at(-1) ?? '');
    all.push(...words);
    isMore = truncated && words.length > 0;
  }
  return all;
}
