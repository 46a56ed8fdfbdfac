import { bootIdFile } from '../os/boot-id.ts';
import { startsFile } from '../os/starts-file.ts';
import type { FileSystem } from '../os/ports.ts';
import { nameOf, statePath, type Program } from './layout.ts';
import {
  addBad,
  endTrial,
  goBack,
  hasProgram,
  isDamaged,
  linkedId,
  noteDamage,
  point,
  readTrial,
  textOf,
  writeTrial,
} from './switch.ts';
import {
  cutsReason,
  damagedReason,
  isId,
  mostCuts,
  mostRefetches,
  mostStarts,
  spentBy,
  trialReason,
  withStart,
  type Trial,
} from '../state/trial-file.ts';
import { takeUnitBack, unitBefore, unitPlaceFile, type UnitPlace } from './unit-renewal.ts';

export type GateOutcome =
  /** No version is on trial. */
  | 'normal'
  /** A version on trial may start; the start was counted. */
  | 'trial'
  /** It used up its starts, or they cannot be counted. The previous version is in use again. */
  | 'reverted'
  /** The linked version was missing or damaged. Another version is in use. */
  | 'repaired';

export interface GateMoment {
  nowSeconds: number;
  boot: string;
  isDoubtful: boolean;
  /** Restored together with the previous version; left out: there is no unit. */
  unit?: Pick<UnitPlace, 'files' | 'path'>;
}

/**
 * Runs before each start of a program. The gate counts each start of a version on trial on disk before the version
 * runs. After the last allowed start, it restores the previous version. `gateText` is the agent's gate as a script, so
 * that a broken agent cannot skip it.
 *
 * @param boot - boot ID, different after each boot; empty: unknown, then a power cut counts as a failure.
 * @param isDoubtful - the program ended repeatedly, so the gate compares it with its checksum.
 */
export async function gate(
  files: FileSystem,
  program: Program,
  { nowSeconds, boot, isDoubtful, unit }: GateMoment,
): Promise<GateOutcome> {
  const trial = await readTrial(files, program);
  const repaired = await repairLink(files, program, trial, { nowSeconds, isDoubtful });
  if (!repaired) return 'normal';
  const { linked, isRepaired } = repaired;
  /** A failure is ignored: the restored version restores the unit again when it runs. */
  const unitBack = async (): Promise<void> => {
    if (unit) await takeUnitBack(files, unit).catch(() => false);
  };
  const none = async (): Promise<GateOutcome> => {
    await unitBack();
    if ((await files.stat(statePath(program, 'trial'))) !== undefined) await endTrial(files, program).catch(() => {});
    return isRepaired ? 'repaired' : 'normal';
  };
  if (!trial || linked === undefined || linked === trial.from) return none();
  if (!(await hasProgram(files, program, trial.from))) return none(); // no version to roll back to, so this one stays
  const next = withStart(linked === trial.to ? trial : { ...trial, to: linked, starts: 0, cuts: 0 }, boot);
  const reason = spentBy(next);
  if (reason === undefined) {
    try {
      await writeTrial(files, program, next);
      return 'trial';
    } catch {
      await unitBack();
      await goBack(files, program, trial.from); // not the version's fault: roll back without quarantine
      return 'reverted';
    }
  }
  // Disk damage is not the version's fault: the file is fetched again, a limited number of times.
  const isBroken = await isDamaged(files, program, linked);
  if (!isBroken || !(await noteDamage(files, program, linked))) {
    const bad = {
      id: linked,
      clearance: trial.clearance,
      since: nowSeconds,
      reason: isBroken ? damagedReason : reason,
    };
    await addBad(files, program, bad).catch(() => {}); // the rollback matters more than its record
  }
  await unitBack();
  await goBack(files, program, trial.from);
  await endTrial(files, program);
  return 'reverted';
}

/**
 * Links another version if the linked one is missing or damaged. A damaged one stays if there is no other.
 *
 * @returns undefined: no version can start.
 */
async function repairLink(
  files: FileSystem,
  program: Program,
  trial: Trial | undefined,
  { nowSeconds, isDoubtful }: Pick<GateMoment, 'nowSeconds' | 'isDoubtful'>,
): Promise<{ linked: string | undefined; isRepaired: boolean } | undefined> {
  const linked = await linkedId(files, program);
  const isThere = linked !== undefined && (await hasProgram(files, program, linked));
  const damaged = isThere && isDoubtful && (await isDamaged(files, program, linked)) ? linked : undefined;
  if (isThere && damaged === undefined) return { linked, isRepaired: false };
  const found = await fallback(files, program, trial?.from, damaged);
  if (found === undefined) return damaged === undefined ? undefined : { linked, isRepaired: false };
  if (trial && damaged === trial.to && !(await noteDamage(files, program, damaged)))
    await addBad(files, program, {
      id: damaged,
      clearance: trial.clearance,
      since: nowSeconds,
      reason: damagedReason,
    });
  await point(files, program, found);
  return { linked: found, isRepaired: true };
}

/** The replacement for a missing or damaged version: the previous one, else any other that is stored. */
async function fallback(
  files: FileSystem,
  program: Program,
  from: string | undefined,
  damaged: string | undefined,
): Promise<string | undefined> {
  const previous = (await textOf(files, statePath(program, 'previous'))).trim();
  const all = (await files.readdir('versions')).toReversed();
  for (const id of [from, previous, ...all]) {
    if (isId(id) && id !== damaged && (await hasProgram(files, program, id))) return id;
  }
  return undefined;
}

/** After `starts` earlier starts, whether to compare the program with its checksum: at every fifth start. */
export const isDoubtfulStart = (starts: number): boolean => starts % 5 === 3;

/**
 * The gate of the agent as a POSIX shell script: `/bin/sh ROOT/lib/gate ROOT`, before each start. It needs only the
 * commands of a minimal system. It always exits with 0, because the gate must never prevent the start of the agent.
 * Decision 0010.
 */
export const gateText = ((p: string): string => `#!/bin/sh
# Runs before each start of ${p}: counts the starts of a version on trial, and goes back after ${mostStarts}.
# A start that ended with the machine itself is made again, at most ${mostCuts} times. A program that ends again and again is
# compared with its checksum: the disk may have damaged it.
# usage: gate ROOT
cd "$1" || exit 0
is_id() {
  case "$1" in '' | *[!A-Za-z0-9._+-]*) return 1 ;; *-????????????) return 0 ;; *) return 1 ;; esac
}
is_count() { case "$1" in 0 | [1-9] | [1-9][0-9]) return 0 ;; *) return 1 ;; esac; }
is_boot() { case "$1" in '' | - | *[!A-Za-z0-9-]*) return 1 ;; *) return 0 ;; esac; }
has() { is_id "$1" && [ -f "versions/$1/${p}" ] && [ -s "versions/$1/${p}" ] && [ ! -L "versions/$1/${p}" ]; }
flush() { sync "$1" 2>/dev/null || sync; }
save() { cat > "$1.tmp" && flush "$1.tmp" && mv -f "$1.tmp" "$1" && flush state; }
point() {
  rm -f bin/${p}.tmp
  ln -s "../versions/$1/${p}" bin/${p}.tmp && mv -f bin/${p}.tmp bin/${p} && flush bin
}
unit_back() {
  [ -f ${unitBefore} ] && [ -f ${unitPlaceFile} ] && IFS= read -r unit < ${unitPlaceFile} || return 0
  [ -s ${unitBefore} ] && [ -f "$unit" ] && ! cmp -s ${unitBefore} "$unit" 2>/dev/null && {
    cat ${unitBefore} > "$unit.tmp" && flush "$unit.tmp" && mv -f "$unit.tmp" "$unit" && flush "\${unit%/*}" || return 0
    case "$unit" in /*) systemctl daemon-reload && echo "<5>the unit of the version before is back" ;; esac
  }
  rm -f ${unitBefore} && flush state
}
go_back() {
  unit_back
  if [ "$(readlink bin/${p}.back 2>/dev/null)" = "../versions/$1/${p}" ]; then
    mv -f bin/${p}.back bin/${p} && flush bin
  else
    point "$1"
  fi
}
is_damaged() {
  want= rest=
  [ -f "versions/$1/sha256" ] && read -r want rest < "versions/$1/sha256"
  case "$want" in *[!0-9a-f]*) return 1 ;; esac
  [ \${#want} = 64 ] && command -v sha256sum >/dev/null || return 1
  got=$(sha256sum < "versions/$1/${p}") || return 0
  [ "\${got%% *}" != "$want" ]
}
note_damage() {
  times=$(grep -c "^$1$" state/${p}.damaged 2>/dev/null) || times=0
  count=0
  { while [ $count -le "$times" ]; do echo "$1"; count=$((count + 1)); done; } | save state/${p}.damaged
  [ "$times" -lt ${mostRefetches} ]
}
condemn() {
  { grep -v "^$1 " state/${p}.bad 2>/dev/null
    echo "$1 \${clearance:-0} $(date +%s) $2"
  } | save state/${p}.bad
}
end_trial() { rm -f state/${p}.trial && flush state; rm -f bin/${p}.back; }
clean() { unit_back; [ -e state/${p}.trial ] && end_trial; exit 0; }

from= to= starts= clearance= since= needs= last= cuts= boot=
[ -f state/${p}.trial ] && read -r from to starts clearance since needs last cuts rest < state/${p}.trial
[ -r ${bootIdFile} ] && read -r boot rest < ${bootIdFile}
is_id "$from" && is_id "$to" && is_count "$starts" || from=
is_count "$cuts" || cuts=0
is_boot "$boot" || boot=-

tries=0
[ -f ${startsFile} ] && read -r tries rest < ${startsFile}
is_count "$tries" || tries=0
{ mkdir -p -m 700 "$(dirname ${startsFile})" && echo $((tries + 1)) > ${startsFile}; } 2>/dev/null

linked=$(readlink bin/${p} 2>/dev/null)
linked=\${linked#../versions/}
linked=\${linked%/${p}}
damaged=
if has "$linked" && [ $((tries % 5)) = 3 ] && is_damaged "$linked"; then damaged=$linked; fi
if [ -n "$damaged" ] || ! has "$linked"; then
  linked=
  previous=
  [ -f state/${p}.previous ] && read -r previous rest < state/${p}.previous
  for id in "$from" "$previous" $(ls -r versions 2>/dev/null); do
    if has "$id" && [ "$id" != "$damaged" ]; then linked=$id; break; fi
  done
  if [ -n "$linked" ]; then
    if [ -n "$from" ] && [ -n "$damaged" ] && [ "$damaged" = "$to" ]; then
      note_damage "$damaged" || condemn "$damaged" '${damagedReason}'
    fi
    echo "<3>the version in use is gone or damaged: $linked is used"
    point "$linked"
  else
    linked=$damaged
  fi
  [ -n "$linked" ] || exit 0
fi

[ -n "$from" ] && [ "$linked" != "$from" ] || clean
has "$from" || clean
[ "$linked" = "$to" ] || starts=0 cuts=0
if [ "$starts" -gt 0 ] && is_boot "$last" && [ "$boot" != - ] && [ "$last" != "$boot" ]; then
  cuts=$((cuts + 1))
else
  starts=$((starts + 1))
fi
reason=
[ "$starts" -le ${mostStarts} ] || reason='${trialReason}'
[ "$cuts" -le ${mostCuts} ] || reason='${cutsReason}'
if [ -z "$reason" ]; then
  if echo "$from $linked $starts \${clearance:-0} \${since:-0} \${needs:-local} $boot $cuts" | save state/${p}.trial; then
    echo "<5>start $starts of version $linked on trial, $cuts were cut short"
  else
    go_back "$from"
    echo "<3>the starts of version $linked cannot be counted: back to $from"
  fi
  exit 0
fi
if is_damaged "$linked"; then
  reason='${damagedReason}'
  if note_damage "$linked"; then
    go_back "$from" && end_trial
    echo "<3>version $linked is damaged on the disk and is fetched again; back to $from"
    exit 0
  fi
fi
condemn "$linked" "$reason"
go_back "$from" && end_trial
echo "<3>version $linked: $reason; back to $from"
exit 0
`)(nameOf('agent'));
