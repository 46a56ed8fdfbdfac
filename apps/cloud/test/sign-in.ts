/** Presses the button of the page that a sign-in link opens. @param headers - more headers, as a proxy adds them */
export async function signIn(link: string, headers: Record<string, string> = {}): Promise<Response> {
  const { origin, searchParams } = new URL(link);
  const body = new URLSearchParams({ token: searchParams.get('token') ?? '' });
  return fetch(`${origin}/sign-in`, { method: 'POST', body, headers, redirect: 'manual' });
}

export const cookieIn = (answer: Response): string => (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
