// The simulated network keeps the contract of its port.
import { FakeClock } from '@platform/kit/testing';
import { SimNetwork } from '../src/os/sim/network.ts';
import { networkContract, type NetworkWorld } from './network-contract.ts';

async function simulated(): Promise<NetworkWorld> {
  const clock = new FakeClock();
  const network = new SimNetwork(clock);
  network.setCable('eth0', { isPlugged: false });
  return {
    network,
    pass: () => clock.advance(500),
    accessPoint: (ssid, how) =>
      network.setAccessPoint(ssid, { ...how, ...(how?.password === '' && { security: 'open' as const }) }),
    plugCable: (isPlugged) => network.setCable('eth0', { isPlugged }),
    unplugRadio: () => network.setRadios([]),
    setManager: async (to) => network.setManager(to),
    foreignProfile: (name) => network.addForeignProfile({ name, type: 'wired' }),
    endCheckpoints: () => clock.advance(61_000),
    country: () => network.country,
    forgetCountry: (name) => void (network.unknownCountries = [...network.unknownCountries, name]),
    takeDnsPort: (program) => void (network.foreignDnsServer = program),
    [Symbol.asyncDispose]: async () => {},
  };
}

networkContract('simulation', simulated);
