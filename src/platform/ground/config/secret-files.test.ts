import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { configurationPage } from '../../../../scripts/configuration-page.ts'
import { ConfigFault, readConfig } from './config.ts'
import { variables } from './env-variables.ts'
import { secretNames, withSecretFiles } from './secret-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidings-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fileWith = (content: string | Buffer): string => {
  const path = join(folder, randomBytes(6).toString('hex'))
  writeFileSync(path, content)
  return path
}

const faultsOf = (env: Record<string, string>): string[] => {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigFault) return error.faults
    throw error
  }
  return []
}

test('Every secret variable can be read from a file, and no other variable', () => {
  const secrets = Object.entries(variables).filter(([, definition]) => 'secret' in definition)
  expect(secretNames).toEqual(secrets.map(([name]) => name))
  for (const name of Object.keys(variables)) {
    const path = fileWith('the value')
    const { env, faults } = withSecretFiles({ [`${name}_FILE`]: path })
    expect([env[name], faults], name).toEqual([(secretNames as string[]).includes(name) ? 'the value' : undefined, []])
    expect(variables).not.toHaveProperty(`${name}_FILE`)
  }
})

test('The content of the file is the value, without the line break at its end', () => {
  for (const end of ['', '\n', '\r\n']) {
    expect(readConfig({ METRICS_TOKEN_FILE: fileWith(`0123456789abcdef${end}`) }).metricsToken).toBe('0123456789abcdef')
  }
  const { env } = withSecretFiles({ AUDIT_SIGNING_SECRET_FILE: fileWith('one\ntwo\n\n') })
  expect(env.AUDIT_SIGNING_SECRET).toBe('one\ntwo\n')
  const key = randomBytes(32)
  expect(readConfig({ MASTER_KEY_FILE: ` ${fileWith(`${key.toString('base64')}\n`)} ` }).masterKey).toEqual(key)
})

test('A variable and its file together are a fault, and an empty variable counts as not set', () => {
  const path = fileWith('0123456789abcdef')
  expect(faultsOf({ METRICS_TOKEN: 'fedcba9876543210', METRICS_TOKEN_FILE: path })).toEqual([
    'METRICS_TOKEN and METRICS_TOKEN_FILE are both set: remove one of them.',
  ])
  expect(readConfig({ METRICS_TOKEN: ' ', METRICS_TOKEN_FILE: path }).metricsToken).toBe('0123456789abcdef')
  expect(readConfig({ METRICS_TOKEN: 'fedcba9876543210', METRICS_TOKEN_FILE: '' }).metricsToken).toBe(
    'fedcba9876543210',
  )
})

test('A file that is missing, a folder, empty or too large is one fault that names it', () => {
  const missing = join(folder, 'missing')
  const [empty, large] = [fileWith('\n'), fileWith('x'.repeat(65_537))]
  const production = {
    NODE_ENV: 'production',
    SERVICE_DOMAIN: 'mail.example.com',
    BASE_URL: 'https://api.example.com',
    EMAIL_PROVIDER: 'ses',
  }
  expect(faultsOf({ ...production, MASTER_KEY_FILE: missing })).toEqual([
    `MASTER_KEY_FILE ${missing} cannot be read: ENOENT: no such file or directory, open '${missing}'.`,
  ])
  expect(faultsOf({ METRICS_TOKEN_FILE: folder })).toEqual([
    `METRICS_TOKEN_FILE ${folder} cannot be read: EISDIR: illegal operation on a directory, read.`,
  ])
  expect(faultsOf({ METRICS_TOKEN_FILE: empty })).toEqual([
    `METRICS_TOKEN_FILE ${empty} is empty: write the value of METRICS_TOKEN to it.`,
  ])
  expect(faultsOf({ METRICS_TOKEN_FILE: large })).toEqual([
    `METRICS_TOKEN_FILE ${large} must be a file of at most 65536 bytes.`,
  ])
  expect(readConfig({ AUDIT_SIGNING_SECRET_FILE: fileWith('x'.repeat(65_536)) }).auditSigningSecret).toHaveLength(
    65_536,
  )
})

test('An invalid value from a file is reported under the name of the variable, without the value', () => {
  expect(faultsOf({ DATABASE_URL_FILE: fileWith('mysql://u:hunter2@h/d') })).toEqual([
    'DATABASE_URL must be a postgres:// URL of a PostgreSQL 15 or newer server.',
  ])
})

test('The configuration page lists the variables that have a file', () => {
  const [, listed = ''] = configurationPage().match(/have a `_FILE` variable:\n(.*)\.\n/) ?? []
  expect(listed.replaceAll('`', '').split(', ')).toEqual(secretNames)
})
