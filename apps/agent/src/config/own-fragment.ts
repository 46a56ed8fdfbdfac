import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { fragmentText } from '@platform/contract/provisioning/set-up-code';

/** The fragment that the manufacturer's defaults name for the machine of this device; empty: none that can be sent. */
export function fragmentOf({ manufacturer }: { manufacturer: unknown }): string {
  const { fragment_id: id } = resolveAgentConfig({ manufacturer }).config.network_configuration;
  return fragmentText.test(id) ? id : '';
}
