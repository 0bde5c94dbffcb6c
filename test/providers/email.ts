/** Shared set-up for the email provider tests. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newId } from '../../src/platform/ground/ids.ts'
import type { Mail } from '../../src/providers/email/email-provider.ts'
import { HandoverFault } from '../../src/providers/handover.ts'

export const at = new Date('2026-11-15T10:20:30.000Z')

export const testMail = (changes: Partial<Mail> = {}): Mail => ({
  orgId: newId('org'),
  messageId: newId('message'),
  from: { address: 'hello@example.test', name: 'Acme' },
  to: [{ address: 'ann@reader.test', name: null }],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: 'A subject',
  html: '<p>Hi</p>',
  text: 'Hi',
  headers: {},
  attachments: [],
  at,
  returnPath: null,
  dkim: null,
  region: 'us-east-1',
  ipPool: null,
  ...changes,
})

export const to = (...addresses: string[]): Mail['to'] => addresses.map((address) => ({ address, name: null }))

/** The HandoverFault that a send rejects with. */
export const faultOf = async (work: Promise<unknown>): Promise<HandoverFault> => {
  const error = await work.then(
    () => new Error('the provider accepted the message'),
    (error: unknown) => error,
  )
  if (!(error instanceof HandoverFault)) throw error
  return error
}

export type Signer = { key: string; certificate: string }

/** A self-signed certificate, made with the openssl command. */
export const selfSigned = async (name: string, days = 30): Promise<Signer> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-certificate-'))
  try {
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    await promisify(execFile)('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-days',
      String(days),
      '-addext',
      `subjectAltName=DNS:${name},IP:127.0.0.1`,
      '-keyout',
      key,
      '-out',
      certificate,
    ])
    return { key: await readFile(key, 'utf8'), certificate: await readFile(certificate, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const dkimKeys = (): { privateKey: string; record: string } => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    record: `v=DKIM1; k=rsa; p=${spki}`,
  }
}
