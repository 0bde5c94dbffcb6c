import { buffer } from 'node:stream/consumers'
import DKIM from 'nodemailer/lib/dkim'
import type { Mail } from './email-provider.ts'

/** Receivers ask of one-click unsubscribe that both of its headers are signed (RFC 8058). */
const signed = [
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

/** The message with a signature before it: rsa-sha256, relaxed/relaxed. */
export const signDkim = async (raw: Buffer, dkim: NonNullable<Mail['dkim']>): Promise<Buffer> => {
  const { domain, selector, privateKey } = dkim
  const signer = new DKIM({ domainName: domain, keySelector: selector, privateKey, headerFieldNames: signed })
  const out = await buffer(signer.sign(raw))
  // A key that cannot sign is passed over in silence, and unsigned mail fails where nobody sees it.
  if (!out.subarray(0, 15).toString('latin1').startsWith('DKIM-Signature:')) {
    throw new Error(`the DKIM key of ${domain} cannot sign`)
  }
  return out
}
