/** Whether a URL names the computer that uses it, so that no other one reaches this server by it. */
export const isLoopbackUrl = (url: string): boolean =>
  URL.canParse(url) && /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
