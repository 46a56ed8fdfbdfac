/** Locates the API server: from the options, or from the environment of a pod. */
import { errorText } from '@platform/kit';
import { readPem, readText, Usage } from '@platform/kit/node';
import { parseObject } from '@platform/contract/text/json-object';

export interface KubernetesPlace {
  readonly url: string;
  readonly namespace: string;
  readonly tokenFile: string;
  readonly ca: string | undefined;
}
interface ClusterOptions {
  readonly kubernetesUrl?: string | undefined;
  readonly kubernetesTokenFile?: string | undefined;
  readonly kubernetesCaFile?: string | undefined;
  readonly kubernetesNamespace?: string | undefined;
}

/** @param account - folder of the service account in a pod. @throws Usage */
export async function kubernetesPlace(
  given: ClusterOptions,
  env: Readonly<Record<string, string | undefined>>,
  account = '/var/run/secrets/kubernetes.io/serviceaccount',
): Promise<KubernetesPlace> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const inside = given.kubernetesUrl === undefined;
  if (inside && (host === undefined || host === '')) {
    throw new Usage(
      'Give the address of the API server: --kubernetes-url https://…:6443; inside of a cluster it is known.',
      2,
    );
  }
  const url = given.kubernetesUrl ?? `https://${host?.includes(':') ? `[${host}]` : host}:${port}`;
  if (!URL.canParse(url)) throw new Usage(`--kubernetes-url ${url} is not a URL.`, 2);
  const tokenFile = given.kubernetesTokenFile ?? (inside ? `${account}/token` : undefined);
  if (tokenFile === undefined)
    throw new Usage('Give a file with a token for the API server: --kubernetes-token-file.', 2);
  const caFile = given.kubernetesCaFile ?? (inside ? `${account}/ca.crt` : undefined);
  const ca =
    caFile === undefined
      ? undefined
      : await readPem(caFile).catch((error: unknown) => {
          throw new Usage(`The certificates in ${caFile} cannot be read: ${errorText(error)}.`, 2);
        });
  const own = inside ? await readText(`${account}/namespace`).catch(() => '') : '';
  return {
    url: url.replace(/\/+$/, ''),
    namespace: given.kubernetesNamespace ?? (own.trim() || 'default'),
    tokenFile,
    ca,
  };
}

/** @throws Usage */
export function podPatch(json: string | undefined): Record<string, unknown> {
  if (json === undefined) return {};
  const patch = parseObject(json);
  if (patch) return patch;
  throw new Usage('--kubernetes-pod must be a JSON object such as {"nodeSelector": {"gpu": "true"}}.', 2);
}
