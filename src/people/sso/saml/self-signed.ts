/**
 * A self-signed certificate around a key. Identity providers take the key of a service from a certificate; they do not
 * judge its issuer or its dates.
 */
import { createPublicKey, randomBytes, sign } from 'node:crypto'

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = length > 0xff ? [0x82, length >> 8, length & 0xff] : [0x81, length]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
/** An object identifier whose content is already encoded. */
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))

const sha256WithRsa = sequence(oid('2a864886f70d01010b'), der(0x05))
const commonName = oid('550403')

const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(text)))))

/** RFC 5280 wants UTCTime, with two digits of the year, up to 2049, and GeneralizedTime afterwards. */
const timeOf = (at: Date): Buffer => {
  const text = `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  return at.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}

/** PEM. `privateKey` is an RSA key in PEM. */
export const selfSignedCertificate = (privateKey: string, name: string, from: Date, until: Date): string => {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  // A serial number is positive, so its first bit is 0, and its first byte is not 0.
  const serial = randomBytes(16)
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40
  const subject = nameOf(name)
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    sha256WithRsa,
    subject,
    sequence(timeOf(from), timeOf(until)),
    subject,
    publicKey,
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  const certificate = sequence(toBeSigned, sha256WithRsa, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) as string[]
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
