/** The weights are not those that the program was made for: nothing is trained with unknown weights. */
export class WeightsError extends Error {
  override readonly name = 'WeightsError';
}
