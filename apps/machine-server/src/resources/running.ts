import { PlatformError } from '@platform/contract/errors/errors';
import type { Offer, Resource } from './resource.ts';

type OfferOf<K extends Offer['is']> = Extract<Offer, { is: K }>;

/**
 * The running resources, by name. Their users look them up at each use, so that a camera or a model can be replaced at
 * any time.
 */
export class RunningResources {
  readonly #byName = new Map<string, { readonly key: string; readonly resource: Resource }>();

  /** Keys of the running resources, by name. */
  keys(): ReadonlyMap<string, string> {
    return new Map([...this.#byName].map(([name, { key }]) => [name, key]));
  }

  /** Installs the new resource before it stops the old one. */
  async put(name: string, key: string, resource: Resource): Promise<void> {
    const before = this.#byName.get(name);
    this.#byName.set(name, { key, resource });
    await before?.resource.stop();
  }

  async stop(name: string): Promise<void> {
    const before = this.#byName.get(name);
    this.#byName.delete(name);
    await before?.resource.stop();
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#byName.keys()].map((name) => this.stop(name)));
  }

  /** @throws PlatformError RESOURCE_NOT_FOUND when no resource of that kind runs under that name. */
  get<K extends Offer['is']>(kind: K, name: string): OfferOf<K> {
    const offer = this.find(kind, name);
    if (offer === undefined) throw new PlatformError('RESOURCE_NOT_FOUND', { kind, name });
    return offer;
  }

  find<K extends Offer['is']>(kind: K, name: string): OfferOf<K> | undefined {
    const offer = this.#byName.get(name)?.resource.offer;
    return offer?.is === kind ? (offer as OfferOf<K>) : undefined;
  }

  /** Why a running resource currently cannot work. */
  failure(name: string): unknown {
    return this.#byName.get(name)?.resource.failure?.();
  }

  /** The name of the model if exactly one runs. */
  onlyModel(): string | undefined {
    const models = [...this.#byName].filter(([, { resource }]) => resource.offer.is === 'model');
    return models.length === 1 ? models[0]?.[0] : undefined;
  }
}
