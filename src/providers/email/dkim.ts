import { buffer } from 'node:stream/consumers'
import DKIM from 'nodemailer/lib/dkim'
import type { Mail } from './email-provider.ts'

/** Both headers of one-click unsubscribe must be signed (RFC 8058). */
const signedHeaders = [
  'From',
  'Sender',
  'Reply-To',
  'Subject',
  'Date',
  'Message-ID',
  'To',
  'Cc',
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Id',
  'List-Help',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'X-Service-Message-Id',
].join(':')

/** Returns the message with a DKIM-Signature header in front: rsa-sha256, relaxed/relaxed. */
export const signDkim = async (raw: Buffer, dkim: NonNullable<Mail['dkim']>): Promise<Buffer> => {
  const { domain, selector, privateKey } = dkim
  const signer = new DKIM({ domainName: domain, keySelector: selector, privateKey, headerFieldNames: signedHeaders })
  const out = await buffer(signer.sign(raw))
  // The library returns the message unsigned when the key cannot sign. Receivers would reject it without a report.
  if (!out.subarray(0, 15).toString('latin1').startsWith('DKIM-Signature:')) {
    throw new Error(`the DKIM key of ${domain} cannot sign a message`)
  }
  return out
}
