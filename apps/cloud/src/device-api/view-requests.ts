/** The cameras whose live images a machine server is to send. `state` is empty if there are none. */
export type DesiredViews = { readonly state: string; readonly cameras: readonly string[] };

/** Live views, as checks of machine servers need them. */
export type ViewRequests = {
  desired(partId: string): DesiredViews;
  /** Notes a check of a machine server. */
  noteCheck(partId: string, knowsViews: boolean): void;
};

/** @param known - undefined: the machine server does not know live views. @returns undefined: none, or as known. */
export const newViews = (desired: DesiredViews | undefined, known: string | undefined): DesiredViews | undefined =>
  known === undefined || desired?.state === known ? undefined : desired;

/** The field of an answer; absent if there is nothing new. */
export const viewsField = (views: DesiredViews | undefined) =>
  views && { desiredViews: { state: views.state, cameras: [...views.cameras] } };
