// The one-time key by which an install command fetches the credentials of one machine, and reports how far it came.

/** What such a key begins with: an installer reports its steps for no other key. */
export const installKeyPrefix = 'once_';

export const isInstallKey = (key: string): boolean => key.startsWith(installKeyPrefix);

/** Path of POST on the management server, with the three headers below and a form of `step` and `detail`. */
export const installStepsPath = '/api/install-steps';
export const keyIdHeader = 'key_id';
export const keyHeader = 'key';
/**
 * A random text that an installer keeps until it is done: the computer that used a key may use it again, for example
 * after a full disk.
 */
export const installerHeader = 'x-installer';
export const installerText = /^[A-Za-z0-9]{32}$/;

/** What an installer reports, in this order; FAILED ends it. */
export const reportedSteps = ['started', 'downloaded', 'verified', 'installed', 'failed'] as const;
export type ReportedStep = (typeof reportedSteps)[number];
export const isReportedStep = (text: string): text is ReportedStep => reportedSteps.some((one) => one === text);

/** Characters of a detail that are kept. */
export const longestDetail = 600;
