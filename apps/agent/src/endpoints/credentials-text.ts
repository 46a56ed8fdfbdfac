/** The content of a credentials file; a half API key is left out. */
export function credentialsText(of: {
  id: string;
  secret: string;
  appAddress: string;
  apiKey: { id: string; key: string } | undefined;
}): string {
  const { id, secret, appAddress, apiKey } = of;
  const isWhole = apiKey && apiKey.id !== '' && apiKey.key !== '';
  return JSON.stringify({
    cloud: {
      app_address: appAddress,
      id,
      ...(isWhole && { api_key: { id: apiKey.id, key: apiKey.key } }),
      ...(secret !== '' && { secret }),
    },
  });
}
