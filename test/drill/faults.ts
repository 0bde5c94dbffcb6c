/** The faults of the drill. Each one ends with a whole cluster. */
import type { Cluster } from './cluster.ts'
import { untilWhole } from './cluster.ts'
import { fillDisk } from './disks.ts'
import type { NodeNumber } from './nodes.ts'
import { pause, print, waitUntil } from './progress.ts'
import { probeFormerPrimary } from './split-brain.ts'

export type Fault = {
  /** For --only. */
  id: string
  name: string
  needsDisk?: true
  /** Returns what was lost, apart from sends. */
  run(cluster: Cluster): Promise<string[]>
}

const nothingLost: string[] = []

const primaryOf = (cluster: Cluster): Promise<NodeNumber> => waitUntil('there is a primary', cluster.primary)

const anotherPrimary = async (cluster: Cluster, former: NodeNumber): Promise<void> => {
  const now = await waitUntil('another node is the primary', async () => {
    const found = await cluster.primary()
    return found === former ? undefined : found
  })
  print(`node ${now} is the primary`)
}

/** The replica that commits wait for. The loss of the other one has no effect. */
const replicaOf = (cluster: Cluster): Promise<NodeNumber> =>
  waitUntil('there is a replica', async () => (await cluster.replicas())[0])

const killPrimary: Fault = {
  id: 'primary',
  name: 'kill -9 of the primary',
  run: async (cluster) => {
    const former = await primaryOf(cluster)
    await cluster.nodes[former].database.kill()
    print(`PostgreSQL and Patroni of node ${former} are killed`)
    await anotherPrimary(cluster, former)
    await cluster.nodes[former].database.start()
    await untilWhole(cluster)
    return nothingLost
  },
}

const killReplica: Fault = {
  id: 'replica',
  name: 'kill -9 of a replica',
  run: async (cluster) => {
    const replica = await replicaOf(cluster)
    await cluster.nodes[replica].database.kill()
    print(`PostgreSQL and Patroni of node ${replica} are killed`)
    await pause(15_000)
    await cluster.nodes[replica].database.start()
    await untilWhole(cluster)
    return nothingLost
  },
}

const killEtcdLeader: Fault = {
  id: 'etcd',
  name: "kill -9 of etcd's leader",
  run: async (cluster) => {
    const leader = await waitUntil('etcd has a leader', cluster.etcdLeader)
    await cluster.nodes[leader].etcd.kill()
    print(`etcd of node ${leader} is killed`)
    await waitUntil('etcd has another leader', cluster.etcdLeader)
    // Longer than the time after which Patroni gives up an etcd that does not answer.
    await pause(20_000)
    await cluster.nodes[leader].etcd.start()
    await untilWhole(cluster)
    return nothingLost
  },
}

const killRedisMaster: Fault = {
  id: 'redis',
  name: "kill -9 of Redis's master",
  run: async (cluster) => {
    const master = await waitUntil('Redis has a master', cluster.redisMaster)
    await cluster.nodes[master].redis.kill()
    print(`Redis of node ${master} is killed`)
    await waitUntil('Redis has another master', cluster.redisMaster)
    await cluster.nodes[master].redis.start()
    await untilWhole(cluster)
    return nothingLost
  },
}

const pausePrimary: Fault = {
  id: 'pause',
  name: 'a paused primary that wakes up again',
  run: async (cluster) => {
    const former = await primaryOf(cluster)
    const probe = await probeFormerPrimary(cluster, former)
    await cluster.nodes[former].database.signal('SIGSTOP')
    print(`PostgreSQL and Patroni of node ${former} are paused`)
    await anotherPrimary(cluster, former)
    await pause(5_000)
    await cluster.nodes[former].database.signal('SIGCONT')
    print(`node ${former} is awake`)
    await probe.write(10_000)
    await untilWhole(cluster)
    const now = await primaryOf(cluster)
    const tookOver = now === former ? ['the lock that the new primary held'] : []
    return [...tookOver, ...(await probe.lost())]
  },
}

const fillReplica: Fault = {
  id: 'disk',
  name: 'a full disk on a replica',
  needsDisk: true,
  run: async (cluster) => {
    const replica = await replicaOf(cluster)
    const full = await fillDisk(cluster.homeOf(replica))
    print(`the disk of node ${replica} is full`)
    // PostgreSQL writes to files of its log that it has reserved until these are used up.
    await waitUntil(`node ${replica} no longer follows the primary`, async () => {
      await cluster.switchLog().catch(() => undefined)
      await pause(1_000)
      return !(await cluster.replicas()).includes(replica)
    })
    print(`node ${replica} no longer follows the primary`)
    await pause(20_000)
    await full.empty()
    print(`the disk of node ${replica} has space again`)
    await untilWhole(cluster)
    return nothingLost
  },
}

export const faults: Fault[] = [killPrimary, killReplica, killEtcdLeader, killRedisMaster, pausePrimary, fillReplica]
