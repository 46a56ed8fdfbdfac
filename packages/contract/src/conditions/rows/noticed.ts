import type { ConditionRow } from '../condition-row.ts';

/** What the management server notices about a machine, beside what the machine reports. */
export const noticedConditions = {
  IDENTITY_SHARED: {
    severity: 'error',
    message:
      'Two computers use the credentials of this machine: {first} and {second}[, and {more} more]. The status shown is that of {kept}. Both follow the configuration, and the log lines of both arrive here.[ {split}]',
    cause: 'Two computers check in by turns: a cloned card, or a copied disk.',
    remedy:
      'Make the one that appeared last a machine of its own: the button here, or `platform machine split {name}`. If it should not run at all, switch it off: this ends {minutes} minutes later.',
    ends: 'It ends when only one has checked in for 10 minutes.',
  },
  AGENTS_BOTH_RUN: {
    severity: 'error',
    message:
      'Two agents run with the credentials of this machine: platform-agent on {ours}, and the agent of another product at {other}. Each starts a machine server. The status shown is that of platform-agent.',
    cause: 'Both check in for this machine by turns.',
    remedy:
      'Keep one. On the machine, `systemctl disable --now viam-agent` keeps platform-agent, and `platform-agent migrate-back` keeps the other one. This condition ends {minutes} minutes later.',
    ends: 'It ends when only one has checked in for 10 minutes.',
  },
  OTHER_AGENT_NO_RELEASE: {
    severity: 'note',
    message:
      'No version of its own programs is published here for the agent of another product on this machine. It keeps what it has, and may log errors at each check, about every 5 s.',
    cause: 'The agent of another product runs, and no version of its programs is published or pinned.',
    remedy:
      'Publish viam-agent and viam-server for its platform, pin them by URL in the configuration, or move the machine: platform machine migrate NAME. See docs/versions.md.',
    ends: 'It ends when one is published or pinned, or the machine has moved.',
  },
  MIGRATION_WAITING: {
    severity: 'warning',
    message: 'The other agent downloaded platform-agent {version} and still runs.',
    cause: 'A migration was requested, and the other agent has not restarted.',
    remedy:
      'It restarts as soon as its machine server allows it. If it has restarted meanwhile, platform-agent did not start: look at journalctl -u viam-agent there, or publish a version that starts and ask again.',
    ends: 'It ends when platform-agent runs.',
  },
  MIGRATION_FAILED: {
    severity: 'error',
    message: 'The platform-agent could not replace the other agent and restores it: {problem}.',
    cause: 'A step of the migration failed on the machine.',
    remedy: 'Remove the cause, then start the migration again: platform machine migrate NAME.',
    ends: 'It ends with a migration that succeeds.',
  },
  SPOOL_REPEATED: {
    severity: 'warning',
    message:
      '{count} arrived with sequence numbers that this machine had already used, the last at {last}. All are stored. Two agents have continued from the same state: a copied or restored folder, or a virtual machine that was resumed twice.',
    cause: 'Log lines or samples came under numbers that were used before.',
    remedy:
      'Check whether a second machine uses these credentials, and give it its own. If the agent is old, update it. This condition clears {hours} hours after the last one.',
    ends: 'It ends 24 hours after the last of them.',
  },
} as const satisfies Record<string, ConditionRow>;
