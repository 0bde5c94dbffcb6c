/** Certificates of identity providers. */
import { X509Certificate } from 'node:crypto'

/** Two are enough to roll one over. Some identity providers publish more. Each takes time with every response. */
export const maxCertificates = 6
export const maxCertificateChars = 16_384
const minBits = 2_048

/** The certificate in PEM as it is stored, from PEM or bare Base64. A text says what is wrong with it. */
export const readCertificate = (text: string): { pem: string } | { fault: string } => {
  const bare = text.replace(/-----(?:BEGIN|END) CERTIFICATE-----/g, '').replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) return { fault: 'Send the certificate in PEM format.' }
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(Buffer.from(bare, 'base64'))
  } catch {
    return { fault: 'This is not a valid certificate.' }
  }
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < minBits) {
    return { fault: `Use a certificate with an RSA key of at least ${minBits} bits.` }
  }
  return { pem: certificate.toString() }
}

export const shownCertificate = (pem: string): { fingerprint_sha256: string; expires_at: string } => {
  const certificate = new X509Certificate(pem)
  return {
    fingerprint_sha256: certificate.fingerprint256,
    expires_at: new Date(certificate.validTo).toISOString(),
  }
}
