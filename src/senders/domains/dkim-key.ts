import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

export type DkimKey = {
  /** The SubjectPublicKeyInfo in Base64, which follows `p=` in the DNS record. */
  publicKey: string
  /** PEM, PKCS #8. */
  privateKey: string
}

const generate = promisify(generateKeyPair)

/** Keeps a core busy for about a tenth of a second, in the thread pool. Never call it inside a transaction. */
export const newDkimKey = async (): Promise<DkimKey> => {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { publicKey: publicKey.toString('base64'), privateKey }
}

/** The context that a private key is sealed with. A sealed key cannot be opened for another row. */
export const dkimKeyContext = (domainId: string): string => `domains.dkim_private_key ${domainId}`
