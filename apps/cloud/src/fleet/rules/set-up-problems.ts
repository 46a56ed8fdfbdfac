import { isLoopbackUrl } from '@platform/contract/provisioning/loopback';

/** Sentences: why a device cannot use this URL of the server, or should not. */
export function urlProblems(serverUrl: string): string[] {
  const { protocol } = new URL(serverUrl);
  if (isLoopbackUrl(serverUrl))
    return [
      `The address ${serverUrl} leads each device to itself. Open this page by an address that the device can reach, or start the server with --public-url.`,
    ];
  return protocol === 'http:'
    ? [`The address ${serverUrl} has no TLS: others in the network can read the code and the credentials.`]
    : [];
}
