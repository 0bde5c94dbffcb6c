/** Fills in the files of deploy/ha with their example values, and lets the programs check what they can check. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type DrillProgram, missingPackage, postgresPrograms, programPath } from '../drill/packages.ts'
import { exampleValues, fillIn, namesIn, templates, type Values, writeFilled } from '../drill/templates.ts'

let values: Values
let folder: string
beforeAll(async () => {
  values = await exampleValues()
  folder = mkdtempSync(join(tmpdir(), 'tidings-ha-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Whether the program is there. A missing one is reported, because the check is then not done. */
const has = (program: DrillProgram): boolean => {
  const missing = missingPackage(program)
  if (missing) console.warn(`the Debian package ${missing} is not installed: ${program} did not check its file`)
  return missing === undefined
}

const run = (command: string, args: string[]) =>
  spawnSync(command, args, { env: { PATH: programPath }, encoding: 'utf8', timeout: 60_000 })

test('every file is known, and values.env has exactly the names that they use', async () => {
  const used = (await Promise.all(templates.map(namesIn))).flat()
  expect(Object.keys(values).sort()).toEqual([...new Set(used)].sort())
  expect(readdirSync(new URL('../../deploy/ha', import.meta.url)).sort()).toEqual([...templates, 'values.env'].sort())
})

test('a name without a value is an error', async () => {
  const { HOST: _, ...others } = values
  await expect(fillIn('redis.conf', others)).rejects.toThrow('redis.conf needs a value for HOST')
})

test('the values of machine 1 are those of node 1', () => {
  expect(values).toMatchObject({ NODE: 'node1', HOST: values.ADDRESS_1 })
  const own = Object.keys(values).filter((name) => `${name}_1` in values)
  expect(own).toHaveLength(5)
  for (const name of own) expect(values[name]).toBe(values[`${name}_1`])
})

test('etcd knows the address of each node', async () => {
  const etcd = parseEnv(await fillIn('etcd.env', values))
  expect(etcd.ETCD_INITIAL_CLUSTER?.split(',')).toEqual(
    [1, 2, 3].map((n) => `node${n}=http://${values[`ADDRESS_${n}`]}:2380`),
  )
  expect(Object.keys(etcd).every((name) => name.startsWith('ETCD_'))).toBe(true)
})

describe('Patroni', () => {
  test('replicates synchronously, and a primary is replaced within half a minute', async () => {
    const { bootstrap, restapi, etcd } = parse(await fillIn('patroni.yml', values))
    const { ttl, loop_wait, retry_timeout, synchronous_mode } = bootstrap.dcs
    expect(synchronous_mode).toBe(true)
    expect(ttl).toBeLessThan(30)
    expect(ttl).toBeGreaterThanOrEqual(Math.max(20, loop_wait + 2 * retry_timeout))
    expect(restapi.authentication).toBeDefined()
    expect(etcd.hosts.split(',')).toEqual(['10.0.0.1:2379', '10.0.0.2:2379', '10.0.0.3:2379'])
  })

  test('accepts its file', async () => {
    if (!has('patroni') || !existsSync('/usr/lib/postgresql')) return
    // The check wants folders that exist, and other addresses than 127.0.0.1.
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    const addresses = Object.keys(values).filter((name) => /^(HOST|ADDRESS_\d)$/.test(name))
    const own = {
      ...values,
      ...Object.fromEntries(addresses.map((name) => [name, '127.0.0.2'])),
      POSTGRES_DATA: data,
      POSTGRES_PROGRAMS: postgresPrograms(),
    }
    const path = join(folder, 'patroni.yml')
    await writeFilled(path, 'patroni.yml', own)
    const { stdout, stderr, status } = run('patroni', ['--validate-config', path])
    expect(status).not.toBeNull()
    // No etcd runs here. Older versions miss a part that is optional and that `postgresql.pg_hba` replaces.
    const known = /^etcd\.hosts .* is not reachable'$|^bootstrap\.pg_hba +is not defined\.$/
    const faults = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !known.test(line))
    expect(faults).toEqual([])
  })
})

test('HAProxy accepts its file', async () => {
  if (!has('haproxy')) return
  const path = join(folder, 'haproxy.cfg')
  await writeFilled(path, 'haproxy.cfg', values)
  const { status, stdout, stderr } = run('haproxy', ['-c', '-f', path])
  expect(`${stdout}${stderr}`).toContain('Configuration file is valid')
  expect(status).toBe(0)
})

test('Redis and Sentinel have passwords and listen on one address', async () => {
  for (const file of ['redis.conf', 'sentinel.conf'] as const) {
    const lines = (await fillIn(file, values)).split('\n')
    expect(lines).toContain('bind 10.0.0.1')
    expect(lines).toContain(`requirepass ${values.REDIS_PASSWORD}`)
  }
})
