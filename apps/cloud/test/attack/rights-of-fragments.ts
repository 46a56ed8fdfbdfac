import { insiders, machineOperators, machines, members, others, owners, right, type Right } from './rights.ts';

const app = (method: string): string => `platform.app.v1.AppService/${method}`;
const config = { debug: true };

/** Whether a machine uses it is all that others than members may learn of a fragment. */
const hidden = { 'not found': insiders };

export const rightsOfFragments: readonly Right[] = [
  right(app('ListFragments'), { shows: machineOperators, ok: [...others, ...machines, 'runner'] }, ({ orgId }) => ({
    organizationId: orgId,
  })),
  right(app('GetFragment'), { ...hidden, shows: machineOperators }, ({ fragmentId }) => ({ id: fragmentId })),
  right(app('GetFragment'), { ...hidden, shows: members }, ({ otherFragmentId }) => ({ id: otherFragmentId })),
  right(app('CreateFragment'), { shows: owners }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
    config,
  })),
  right(app('UpdateFragment'), { ...hidden, denied: machineOperators, shows: owners }, ({ fragmentId }) => ({
    id: fragmentId,
    configJson: JSON.stringify({ note: 'victim note' }),
  })),
  right(app('DeleteFragment'), { ...hidden, denied: members, ok: owners }, async ({ freshFragment }) => ({
    id: await freshFragment(),
  })),
  right(app('ListMachineFragments'), { shows: machineOperators }, ({ machine }) => ({ machineId: machine.machineId })),
  right(
    'platform.fleet.v1.FleetService/PreviewFragment',
    { ...hidden, denied: machineOperators, shows: owners },
    ({ fragmentId }) => ({
      fragmentId,
      configJson: JSON.stringify(config),
    }),
  ),
];
