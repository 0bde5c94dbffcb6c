/**
 * The DKIM key of the service's own domain, which sends notices and the mail of sandbox senders. The key is made when the
 * operator asks for its record, so nothing is signed before there is a record to publish.
 */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { claimSetting, readSetting } from '../../platform/settings/store.ts'
import type { EmailProvider, Mail } from '../../providers/email/email-provider.ts'
import { type DkimKey, newDkimKey } from './dkim-key.ts'

const settingName = 'service_dkim'
const keyContext = 'settings service_dkim'

export const serviceSelector = 'svc1'

type StoredKey = { public_key: string; private_key: string }

type Needs = { db: Db; vault: Vault; clock: Clock; newKey?: (() => Promise<DkimKey>) | undefined }

export const makeServiceDkim = ({ db, vault, clock, newKey = newDkimKey }: Needs) => {
  const read = async (): Promise<DkimKey | undefined> => {
    const row = await db.row(readSetting, { name: settingName })
    if (!row) return undefined
    const { public_key, private_key } = row.value as StoredKey
    return { publicKey: public_key, privateKey: vault.open(private_key, keyContext) }
  }
  return {
    read,
    readOrCreate: async (): Promise<DkimKey> => {
      const known = await read()
      if (known) return known
      const key = await newKey()
      const stored: StoredKey = { public_key: key.publicKey, private_key: vault.seal(key.privateKey, keyContext) }
      await db.row(claimSetting, { name: settingName, value: JSON.stringify(stored), at: clock.now() })
      // Another process may have stored its key first.
      return (await read()) ?? key
    },
  }
}

type ServiceDkim = ReturnType<typeof makeServiceDkim>

type Signing = { dkim: Pick<ServiceDkim, 'read'>; serviceDomain: string; log: Log }

/** Signs mail from the service's own domain and its subdomains. Mail of other domains already has its key. */
export const signServiceMail = <P extends EmailProvider>(provider: P, { dkim, serviceDomain, log }: Signing): P => {
  let known: Mail['dkim'] = null

  const read = async (): Promise<Mail['dkim']> => {
    if (known) return known
    try {
      const key = await dkim.read()
      if (key) known = { domain: serviceDomain, selector: serviceSelector, privateKey: key.privateKey }
    } catch (error) {
      log.error({ err: error }, 'dkim key of the service not readable')
    }
    return known
  }

  const isOwn = ({ from }: Mail): boolean => {
    const domain = from.address.slice(from.address.lastIndexOf('@') + 1).toLowerCase()
    return domain === serviceDomain || domain.endsWith(`.${serviceDomain}`)
  }

  return {
    ...provider,
    send: (mail: Mail) =>
      mail.dkim === null && isOwn(mail)
        ? read().then((key) => provider.send({ ...mail, dkim: key }))
        : provider.send(mail),
  }
}
