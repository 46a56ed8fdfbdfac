/** The cameras whose live images the management server asks for. `state` is of its answer; empty: none. */
export interface DesiredViews {
  readonly state: string;
  readonly cameras: readonly string[];
}

export const noViews: DesiredViews = { state: '', cameras: [] };
