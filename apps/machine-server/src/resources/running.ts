import { PlatformError } from '@platform/contract/errors';
import type { Offer, Resource } from './resource.ts';

type OfferOf<K extends Offer['is']> = Extract<Offer, { is: K }>;

/**
 * The resources that run, by name. Those that use others look them up at each turn, so that a camera or a model can be
 * replaced under them at any time.
 */
export class RunningResources {
  readonly #byName = new Map<string, { readonly key: string; readonly resource: Resource }>();

  /** Keys of what runs, by name. */
  keys(): ReadonlyMap<string, string> {
    return new Map([...this.#byName].map(([name, { key }]) => [name, key]));
  }

  /** The new one is in place before the old one ends. */
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

  /** @throws PlatformError RESOURCE_NOT_FOUND when nothing of that kind runs under that name. */
  get<K extends Offer['is']>(kind: K, name: string): OfferOf<K> {
    const offer = this.find(kind, name);
    if (offer === undefined) throw new PlatformError('RESOURCE_NOT_FOUND', { kind, name });
    return offer;
  }

  find<K extends Offer['is']>(kind: K, name: string): OfferOf<K> | undefined {
    const offer = this.#byName.get(name)?.resource.offer;
    return offer?.is === kind ? (offer as OfferOf<K>) : undefined;
  }

  /** Why a running resource cannot do its work now. */
  failure(name: string): unknown {
    return this.#byName.get(name)?.resource.failure?.();
  }

  /** The name of the only model, when there is exactly one. */
  onlyModel(): string | undefined {
    const models = [...this.#byName].filter(([, { resource }]) => resource.offer.is === 'model');
    return models.length === 1 ? models[0]?.[0] : undefined;
  }
}
