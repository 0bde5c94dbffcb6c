/** Three nodes on one machine, each with etcd, Patroni with PostgreSQL, Redis and Sentinel, from the files of deploy/ha. */
import { chown, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { etcdApiFor, patroniVersion, postgresPrograms, programPath } from './packages.ts'
import { freePorts, loopback } from './ports.ts'
import { type Account, exec, makeProgram, type Program } from './programs.ts'
import { type Template, type Values, writeFilled } from './templates.ts'

export const nodeNumbers = [1, 2, 3] as const
export type NodeNumber = (typeof nodeNumbers)[number]
export type PerNode<T> = Record<NodeNumber, T>

export const password = 'drill'

const portKinds = ['ETCD_PEER', 'ETCD_CLIENT', 'POSTGRES', 'PATRONI', 'REDIS', 'SENTINEL'] as const
export type PortKind = (typeof portKinds)[number]
export type NodePorts = Record<PortKind, number>

export type Ports = { nodes: PerNode<NodePorts>; proxyPostgres: number; proxyRedis: number }

export const choosePorts = async (): Promise<Ports> => {
  const free = await freePorts(nodeNumbers.length * portKinds.length + 2)
  const next = (): number => free.shift() as number
  const ofNode = (): NodePorts => Object.fromEntries(portKinds.map((kind) => [kind, next()])) as NodePorts
  return { nodes: { 1: ofNode(), 2: ofNode(), 3: ofNode() }, proxyPostgres: next(), proxyRedis: next() }
}

/** What is the same on all nodes, in the names of deploy/ha/values.env. */
export const commonValues = (ports: Ports): Values => {
  const values: Values = {
    ETCD_API: etcdApiFor(patroniVersion()),
    NETWORK: `${loopback}/32`,
    POSTGRES_PASSWORD: password,
    REDIS_PASSWORD: password,
    PROXY_HOST: loopback,
    PROXY_POSTGRES_PORT: ports.proxyPostgres,
    PROXY_REDIS_PORT: ports.proxyRedis,
    POSTGRES_PROGRAMS: postgresPrograms(),
  }
  for (const n of nodeNumbers) {
    values[`ADDRESS_${n}`] = loopback
    for (const kind of portKinds) values[`${kind}_PORT_${n}`] = ports.nodes[n][kind]
  }
  return values
}

export const homeOf = (folder: string, n: NodeNumber): string => join(folder, `node${n}`)

/** The folder of each part of a node. The processes of a part are found by it. */
const partFolders = { etcd: 'etcd', database: 'database', redis: 'redis', sentinel: 'sentinel' } as const
export type Part = keyof typeof partFolders
export type NodePrograms = Record<Part, Program>

const valuesOfNode = (n: NodeNumber, ports: Ports, home: string): Values => ({
  ...commonValues(ports),
  NODE: `node${n}`,
  HOST: loopback,
  ...Object.fromEntries(portKinds.map((kind) => [`${kind}_PORT`, ports.nodes[n][kind]])),
  ETCD_DATA: join(home, 'etcd', 'data'),
  POSTGRES_DATA: join(home, 'database', 'data'),
  POSTGRES_SOCKETS: join(home, 'database'),
  REDIS_DATA: join(home, 'redis'),
  SENTINEL_DATA: join(home, 'sentinel'),
})

/** The account that PostgreSQL's package creates, if the drill runs as root. */
export const findAccount = async (): Promise<Account | undefined> => {
  if (process.getuid?.() !== 0) return undefined
  const idOf = async (option: string): Promise<number> => Number((await exec('id', [option, 'postgres'])).stdout)
  return { uid: await idOf('-u'), gid: await idOf('-g') }
}

type NodeSpec = { n: NodeNumber; folder: string; ports: Ports; account: Account | undefined }

export const makeNode = async ({ n, folder, ports, account }: NodeSpec): Promise<NodePrograms> => {
  const home = homeOf(folder, n)
  const own = async (path: string): Promise<void> => {
    if (account) await chown(path, account.uid, account.gid)
  }
  await own(home)
  for (const part of Object.values(partFolders)) {
    await mkdir(join(home, part), { mode: 0o700 })
    await own(join(home, part))
  }
  const values = valuesOfNode(n, ports, home)
  const write = async (part: Part, file: Template, more = ''): Promise<string> => {
    const path = join(home, part, file)
    await writeFilled(path, file, values, more)
    await own(path)
    return path
  }
  const program = (part: Part, command: string, args: string[], env: NodeJS.ProcessEnv = {}): Program =>
    makeProgram({
      command,
      args,
      env: { PATH: programPath, ...env },
      folder: join(home, part),
      log: join(folder, `${part}-${n}.log`),
      account,
    })
  const etcd = parseEnv(await readFile(await write('etcd', 'etcd.env'), 'utf8'))
  // etcd refuses to start on other processors than x64 without this.
  const allowed = process.arch === 'x64' ? {} : { ETCD_UNSUPPORTED_ARCH: process.arch }
  const following = n === 1 ? '' : `replicaof ${loopback} ${ports.nodes[1].REDIS}\n`
  return {
    etcd: program('etcd', 'etcd', [], { ...etcd, ...allowed }),
    database: program('database', 'patroni', [await write('database', 'patroni.yml')]),
    redis: program('redis', 'redis-server', [await write('redis', 'redis.conf', following)]),
    sentinel: program('sentinel', 'redis-sentinel', [await write('sentinel', 'sentinel.conf')]),
  }
}

export const makeProxy = async (folder: string, ports: Ports, account: Account | undefined): Promise<Program> => {
  const home = join(folder, 'proxy')
  const config = join(home, 'haproxy.cfg')
  await mkdir(home)
  await writeFilled(config, 'haproxy.cfg', commonValues(ports))
  if (account) for (const path of [home, config]) await chown(path, account.uid, account.gid)
  return makeProgram({
    command: 'haproxy',
    args: ['-db', '-f', config],
    env: { PATH: programPath },
    folder: home,
    log: join(folder, 'proxy.log'),
    account,
  })
}
