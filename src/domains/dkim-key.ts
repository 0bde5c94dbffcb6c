import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

export type DkimKey = {
  /** Base64 of the SubjectPublicKeyInfo: what stands after `p=`. */
  publicKey: string
  /** PEM, PKCS #8. */
  privateKey: string
}

const generate = promisify(generateKeyPair)

/** Takes a tenth of a second of a core, in the thread pool: never inside a transaction. */
export const newDkimKey = async (): Promise<DkimKey> => {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { publicKey: publicKey.toString('base64'), privateKey }
}

/** What a private key is sealed for, so that it opens for no other row. */
export const sealedFor = (domainId: string): string => `domains.dkim_private_key ${domainId}`
