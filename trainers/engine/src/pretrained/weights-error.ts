/** The weights have an unexpected hash: no training runs with unknown weights. */
export class WeightsError extends Error {
  override readonly name = 'WeightsError';
}
