/** Time-based one-time passwords: SHA-1, six digits, 30 seconds, as authenticator apps expect. */
import { Secret, TOTP } from 'otpauth'
import qrcode from 'qrcode-generator'

const periodSeconds = 30

export const newTotpSecret = (): string => new Secret({ size: 20 }).base32

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({ issuer: 'Tidings', label, algorithm: 'SHA1', digits: 6, period: periodSeconds, secret })

/** The address that authenticator apps read, and a QR code that shows it. */
export const totpSetup = (secret: string, email: string): { url: string; svg: string } => {
  const url = totpOf(secret, email).toString()
  const qr = qrcode(0, 'M')
  qr.addData(url)
  qr.make()
  return { url, svg: qr.createSvgTag({ cellSize: 4, margin: 16, scalable: true }) }
}

/** The time step that the code belongs to: the current one or a neighbour. Undefined for a wrong code. */
export const totpStep = (secret: string, code: string, atMs: number): number | undefined => {
  const delta = totpOf(secret).validate({ token: code, timestamp: atMs, window: 1 })
  return delta === null ? undefined : Math.floor(atMs / 1000 / periodSeconds) + delta
}
