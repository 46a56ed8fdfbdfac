import { ConfigSlice, ConfigState, type Machine, SliceState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';

/** The newest saved configuration is in effect, as far as the machine acts on it. */
export const isConfigInEffect = ({ configStatus }: Machine): boolean =>
  configStatus?.state === ConfigState.IN_EFFECT || configStatus?.state === ConfigState.PARTLY_IN_EFFECT;

/** One slice has the newest saved configuration in effect, whatever the others have. */
export function isSliceInEffect({ report, configStatus }: Machine, name: ConfigSlice): boolean {
  const slice = report?.slices.find((one) => one.slice === name);
  return (
    slice?.state === SliceState.IN_EFFECT &&
    configStatus?.isCurrent === true &&
    Buffer.compare(slice.configSha256, configStatus.savedSha256) === 0
  );
}
