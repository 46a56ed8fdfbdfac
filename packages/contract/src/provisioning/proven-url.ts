/**
 * Whether the identity of a server at this URL is proven: by TLS, or because the connection does not leave the host. A
 * machine takes its first release keys from such a server only.
 */
export function isProvenUrl(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
