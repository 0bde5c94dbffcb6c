/** The cluster of the drill: starts it, and finds out which node has which role. */
import pg from 'pg'
import { createClient } from 'redis'
import {
  choosePorts,
  findAccount,
  homeOf,
  makeNode,
  makeProxy,
  type NodeNumber,
  type NodePrograms,
  nodeNumbers,
  type PerNode,
  type Ports,
  password,
} from './nodes.ts'
import { loopback } from './ports.ts'
import { exec } from './programs.ts'
import { print, waitUntil } from './progress.ts'

export type Cluster = {
  databaseUrl: string
  redisUrl: string
  nodes: PerNode<NodePrograms>
  /** The file system of a node. */
  homeOf(n: NodeNumber): string
  primary(): Promise<NodeNumber | undefined>
  /** Replicas that receive changes from the primary, with the one that commits wait for first. */
  replicas(): Promise<NodeNumber[]>
  /** Nodes whose PostgreSQL accepts changes. More than one would be a split brain. */
  writable(): Promise<NodeNumber[]>
  etcdLeader(): Promise<NodeNumber | undefined>
  redisMaster(): Promise<NodeNumber | undefined>
  /** Redis nodes that follow the master. */
  redisReplicas(): Promise<NodeNumber[]>
  /** Runs a statement through the proxy. */
  sql<R>(text: string, params?: unknown[]): Promise<R[]>
  /** Makes PostgreSQL begin another file of its log, on all nodes. */
  switchLog(): Promise<void>
  /** A connection to one node, past the proxy. */
  connectTo(n: NodeNumber): Promise<pg.Client>
}

type Member = { name: string; role: string; state: string }

const connect = async (port: number, user: string, database: string): Promise<pg.Client> => {
  const client = new pg.Client({ host: loopback, port, user, password, database, connectionTimeoutMillis: 3_000 })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

const numberOf = (name: string): NodeNumber => Number(name.slice('node'.length)) as NodeNumber

/** What Patroni says about its members. A paused node does not answer, so the others are asked too. */
const membersOf = async (ports: Ports): Promise<Member[]> => {
  const ask = async (n: NodeNumber): Promise<Member[]> => {
    const url = `http://${loopback}:${ports.nodes[n].PATRONI}/cluster`
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    return ((await response.json()) as { members: Member[] }).members
  }
  return Promise.any(nodeNumbers.map(ask)).catch(() => [])
}

const etcdLeaderOf = async (ports: Ports): Promise<NodeNumber | undefined> => {
  type Status = { Endpoint: string; Status: { header: { member_id: number }; leader: number } }
  const endpoints = nodeNumbers.map((n) => `http://${loopback}:${ports.nodes[n].ETCD_CLIENT}`).join(',')
  const args = ['--endpoints', endpoints, '--dial-timeout', '1s', '--command-timeout', '2s']
  // It exits with an error when one of the three does not answer, and prints what the others said.
  const { stdout } = await exec('etcdctl', [...args, 'endpoint', 'status', '-w', 'json'], {
    env: { PATH: process.env.PATH, ETCDCTL_API: '3' },
    timeout: 15_000,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout }))
  const leader = (JSON.parse(stdout || '[]') as Status[]).find(
    ({ Status: { header, leader } }) => header.member_id === leader,
  )
  return nodeNumbers.find((n) => leader?.Endpoint.endsWith(`:${ports.nodes[n].ETCD_CLIENT}`))
}

/** The reply of Redis to ROLE: its role, then what it follows or what follows it. Empty if there is no reply. */
const redisRoleOf = async (ports: Ports, n: NodeNumber): Promise<unknown[]> => {
  const client = createClient({
    socket: { host: loopback, port: ports.nodes[n].REDIS, connectTimeout: 2_000, reconnectStrategy: false },
    password,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.sendCommand(['ROLE'])) as unknown[]
  } catch {
    return []
  } finally {
    client.destroy()
  }
}

/** A former master that came back has no replicas until Sentinel makes it one. */
const isFollowedMaster = ([role, , followers]: unknown[]): boolean =>
  role === 'master' && (followers as unknown[]).length > 0

const isWritable = async (port: number): Promise<boolean> => {
  const client = await connect(port, 'postgres', 'postgres').catch(() => undefined)
  if (!client) return false
  const inRecovery = client.query<{ replica: boolean }>('select pg_is_in_recovery() as replica')
  const isReplica = await inRecovery.then(({ rows }) => rows[0]?.replica).catch(() => true)
  await client.end().catch(() => undefined)
  return !isReplica
}

const nodesWhere = async (holds: (n: NodeNumber) => Promise<boolean>): Promise<NodeNumber[]> => {
  const found = await Promise.all(nodeNumbers.map(holds))
  return nodeNumbers.filter((_, i) => found[i])
}

const makeCluster = (folder: string, ports: Ports, nodes: PerNode<NodePrograms>): Cluster => ({
  databaseUrl: `postgres://tidings:${password}@${loopback}:${ports.proxyPostgres}/tidings`,
  redisUrl: `redis://:${password}@${loopback}:${ports.proxyRedis}`,
  nodes,
  homeOf: (n) => homeOf(folder, n),
  primary: async () => {
    const members = await membersOf(ports)
    const leader = members.find(({ role, state }) => role === 'leader' && state === 'running')
    return leader && numberOf(leader.name)
  },
  replicas: async () =>
    (await membersOf(ports))
      .filter(({ role, state }) => role !== 'leader' && (state === 'running' || state === 'streaming'))
      .sort((a, b) => Number(b.role === 'sync_standby') - Number(a.role === 'sync_standby'))
      .map(({ name }) => numberOf(name)),
  writable: () => nodesWhere((n) => isWritable(ports.nodes[n].POSTGRES)),
  etcdLeader: () => etcdLeaderOf(ports),
  redisMaster: async () => (await nodesWhere(async (n) => isFollowedMaster(await redisRoleOf(ports, n))))[0],
  redisReplicas: () => nodesWhere(async (n) => (await redisRoleOf(ports, n))[3] === 'connected'),
  sql: async <R>(text: string, params: unknown[] = []) => {
    const client = await connect(ports.proxyPostgres, 'tidings', 'tidings')
    try {
      return (await client.query(text, params)).rows as R[]
    } finally {
      await client.end().catch(() => undefined)
    }
  },
  switchLog: async () => {
    const client = await connect(ports.proxyPostgres, 'postgres', 'postgres')
    await client.query('select pg_switch_wal()').finally(() => client.end().catch(() => undefined))
  },
  connectTo: (n) => connect(ports.nodes[n].POSTGRES, 'tidings', 'tidings'),
})

const createDatabase = async (ports: Ports): Promise<void> => {
  const client = await waitUntil('the proxy reaches the primary', () =>
    connect(ports.proxyPostgres, 'postgres', 'postgres').catch(() => undefined),
  )
  await client.query(`create role tidings login password '${password}'`)
  await client.query('create database tidings owner tidings')
  await client.end()
}

/** A primary, two replicas of which commits wait for one, and nobody else who accepts changes. */
export const untilWhole = async ({
  primary,
  replicas,
  writable,
  redisMaster,
  redisReplicas,
}: Cluster): Promise<void> => {
  await waitUntil('a primary has two replicas', async () => (await primary()) && (await replicas()).length === 2)
  await waitUntil('exactly one PostgreSQL accepts changes', async () => (await writable()).length === 1)
  await waitUntil('Redis has a master and two replicas', async () => {
    return (await redisMaster()) !== undefined && (await redisReplicas()).length === 2
  })
}

/** The folder has one folder for each node. The caller ends everything that runs in it. */
export const startCluster = async (folder: string): Promise<Cluster> => {
  const [ports, account] = [await choosePorts(), await findAccount()]
  const make = (n: NodeNumber) => makeNode({ n, folder, ports, account })
  const nodes = { 1: await make(1), 2: await make(2), 3: await make(3) }
  const proxy = await makeProxy(folder, ports, account)
  const cluster = makeCluster(folder, ports, nodes)
  for (const part of ['etcd', 'redis', 'sentinel'] as const) for (const n of nodeNumbers) await nodes[n][part].start()
  await waitUntil('etcd has a leader', cluster.etcdLeader)
  print('etcd, Redis and Sentinel run')
  for (const n of nodeNumbers) await nodes[n].database.start()
  await proxy.start()
  await untilWhole(cluster)
  await createDatabase(ports)
  return cluster
}
