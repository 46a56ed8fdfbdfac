import { skipToken, useQuery } from '@connectrpc/connect-query';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { FactsCard } from './facts-card.tsx';
import { MachineConditions } from './machine-notices.tsx';
import { useMachine } from '../../../entities/machine/machine-query.ts';
import { SystemCard } from './system-card.tsx';
import { useLostSince } from '../../../ui/contact.tsx';
import { machineView } from '../../../entities/machine/machine-status.ts';
import { CamerasCard } from './cameras-card.tsx';
import { ConditionsButton, ConditionsLater } from './conditions-later.tsx';
import { NetworksCard } from './networks-card.tsx';
import { ResourcesCard } from './resources-card.tsx';
import { resourceRows } from './resources.ts';
import { machineSentence, type Sentence } from './machine-sentence.ts';
import { SentenceCard } from './sentence-card.tsx';
import { TimelineCard } from './timeline-card.tsx';
import { UseCard } from './use-card.tsx';
import './story.css';

const route = getRouteApi('/machines/$machineId/overview');

/** OVERVIEW: what is true of the machine now, its images and resources, what it used, what happened, and what it is. */
export function OverviewTab() {
  const machine = useMachine().data?.machine;
  if (machine === undefined) return null; // The page around it says why.
  return <Story machine={machine} />;
}

/** The list of conditions says the rest. */
const withoutAbout = ({ tone, head, detail, about }: Sentence): Sentence => ({
  tone,
  head,
  detail: about ? [] : detail,
});

function Story({ machine }: { machine: Machine }) {
  const search = route.useSearch();
  const lostSince = useLostSince();
  const isLost = lostSince !== undefined;
  const [isOpen, setOpen] = useState(false);
  const sentence = machineSentence(machine, lostSince);
  const revision = machine.wantedRevision;
  const config = useQuery(
    FleetService.method.getConfig,
    // Revision 0 would mean the newest one, which CONFIGURE keeps under the same key.
    revision === 0n ? skipToken : { partId: machine.partId, revision },
    { placeholderData: (before) => before },
  );
  const { data } = config;
  // All cards appear at once: one that came later would move those below it.
  if (revision > 0n && !data && !config.error) return <SentenceCard machine={machine} sentence={sentence} />;
  const text = revision === 0n ? '{}' : data && (data.mergedJson || data.configJson);
  const rows = text === undefined ? undefined : resourceRows(text, machine, isLost);
  const about = { machineId: machine.id, partId: machine.partId, search };
  return (
    <div className="story">
      <div className="story-side">
        <div className="story-main">
          <SentenceCard machine={machine} sentence={isOpen ? withoutAbout(sentence) : sentence}>
            {!isOpen && <ConditionsButton onPress={() => setOpen(true)} />}
          </SentenceCard>
          {(!isOpen || machine.sharedIdentity) && (
            <MachineConditions machine={machineView(machine)} except={sentence.about} />
          )}
          {isOpen && <ConditionsLater machineId={machine.id} />}
          <CamerasCard partId={machine.partId} cameras={(rows ?? []).filter(({ isCamera }) => isCamera)} />
        </div>
        <div className="story-use">
          {machine.report && <UseCard {...about} />}
          <NetworksCard machine={machine} isLost={isLost} />
          <SystemCard machine={machine} />
        </div>
      </div>
      <div className="story-side">
        <div className="story-rows">
          <ResourcesCard machineId={machine.id} rows={rows} error={config.error} />
        </div>
        <div className="story-past">
          <FactsCard machine={machine} />
          <TimelineCard {...about} />
        </div>
      </div>
    </div>
  );
}
