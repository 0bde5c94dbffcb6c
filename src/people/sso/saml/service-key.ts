/** The key with which the service signs its requests to identity providers. It is made when it is first needed. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { StoreNeeds } from '../../../platform/db/pool.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'
import { claimSetting, readSetting } from '../../../platform/settings/store.ts'
import { selfSignedCertificate } from './self-signed.ts'

const settingName = 'saml_key'
const keyContext = 'settings saml_key'
const validYears = 20

/** PEM. */
export type SamlKey = { privateKey: string; certificate: string }
type Stored = { private_key: string; certificate: string }

const generate = promisify(generateKeyPair)

export const makeSamlKey = ({ db, vault, clock }: StoreNeeds & { vault: Vault }): (() => Promise<SamlKey>) => {
  let known: SamlKey | undefined

  const read = async (): Promise<SamlKey | undefined> => {
    const row = await db.row(readSetting, { name: settingName })
    if (!row) return undefined
    const { private_key, certificate } = row.value as Stored
    return { privateKey: vault.open(private_key, keyContext), certificate }
  }

  const create = async (): Promise<SamlKey | undefined> => {
    const { privateKey } = await generate('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const at = clock.now()
    const until = new Date(at)
    until.setUTCFullYear(at.getUTCFullYear() + validYears)
    const certificate = selfSignedCertificate(privateKey, 'Tidings', at, until)
    const stored: Stored = { private_key: vault.seal(privateKey, keyContext), certificate }
    await db.row(claimSetting, { name: settingName, value: JSON.stringify(stored), at })
    // Another process may have stored its key first.
    return read()
  }

  return async () => {
    known ??= (await read()) ?? (await create())
    if (!known) throw new Error('the key of the service for SAML is missing')
    return known
  }
}
