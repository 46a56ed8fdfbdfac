/** Sentences: why a device cannot use this URL of the server, or should not. */
export function urlProblems(serverUrl: string): string[] {
  const { hostname, protocol } = new URL(serverUrl);
  const isSelf = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (isSelf)
    return [
      `The address ${serverUrl} leads each device to itself. Open this page by an address that the device can reach, or start the server with --public-url.`,
    ];
  return protocol === 'http:'
    ? [`The address ${serverUrl} has no TLS: others in the network can read the code and the credentials.`]
    : [];
}
