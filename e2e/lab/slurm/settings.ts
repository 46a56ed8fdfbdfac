/** Files of a one-node Slurm that needs neither systemd nor files outside its folder. */
export interface Ports {
  readonly controller: number;
  readonly node: number;
}

export const slurmConf = (folder: string, host: string, ports: Ports): string => `ClusterName=platform-lab
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${ports.controller}
SlurmdPort=${ports.node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=${folder}/jwt.key
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.pid
SlurmctldLogFile=${folder}/slurmctld.log
SlurmdLogFile=${folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
MpiDefault=none
ReturnToService=2
KillWait=5
MinJobAge=300
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
NodeName=${host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 Gres=gpu:1 State=UNKNOWN
PartitionName=train Nodes=${host} Default=YES MaxTime=120 State=UP
PartitionName=spare Nodes=${host} MaxTime=120 State=UP
`;

/** A fake GPU: enough for Slurm to allocate it. */
export const gresConf = 'Name=gpu Count=1 File=/dev/null\n';
