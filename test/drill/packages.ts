/** The Debian packages that the drill needs. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const packageOf = {
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
  patroni: 'patroni',
  haproxy: 'haproxy',
  'redis-server': 'redis-server',
  'redis-sentinel': 'redis-sentinel',
} as const

export type DrillProgram = keyof typeof packageOf

/** An ordinary user's path on Debian does not have /usr/sbin, where HAProxy is. */
export const programPath = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`

const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: programPath } }).status === 0

/** The Debian package of a program that is not installed. */
export const missingPackage = (program: DrillProgram): string | undefined =>
  isInstalled(program) ? undefined : packageOf[program]

const postgresFolder = '/usr/lib/postgresql'

const postgresVersions = (): number[] => {
  try {
    return readdirSync(postgresFolder).map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** The folder of the newest installed PostgreSQL's programs. */
export const postgresPrograms = (): string => `${postgresFolder}/${Math.max(...postgresVersions())}/bin`

export const missingPackages = (): string[] => [
  ...(postgresVersions().length === 0 ? ['postgresql'] : []),
  ...(Object.keys(packageOf) as DrillProgram[]).flatMap((program) => missingPackage(program) ?? []),
]

export const assertInstalled = (): void => {
  const missing = missingPackages()
  if (missing.length === 0) return
  const which = missing.length === 1 ? `The Debian package ${missing[0]} is` : 'Some Debian packages are'
  throw new Error(`${which} not installed. Run: apt-get install ${missing.join(' ')}`)
}

/** The version of the installed Patroni, such as 3.0.2. */
export const patroniVersion = (): string =>
  spawnSync('patroni', ['--version'], { env: { PATH: programPath }, encoding: 'utf8' })
    .stdout.trim()
    .split(' ')
    .at(-1) ?? ''

/** deploy/ha/values.env gives the reason. */
export const etcdApiFor = (version: string): 'etcd' | 'etcd3' => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isFixed = major > 3 || (major === 3 && (minor > 0 || patch >= 3))
  return isFixed ? 'etcd3' : 'etcd'
}
