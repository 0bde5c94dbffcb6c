import { X509Certificate } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { connectSmtp, startSubmissionService } from '../../../test/clients/submission-client.ts'
import { type Signer, selfSigned } from '../../../test/providers/email.ts'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import { makeReloadTls } from './reload-tls.ts'

const [first, second] = await Promise.all([selfSigned('one.example.test'), selfSigned('two.example.test')])
const folder = mkdtempSync(join(tmpdir(), 'tidings-reload-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const fingerprintOf = ({ certificate }: Signer): string => new X509Certificate(certificate).fingerprint256

let made = 0
const newFiles = () => {
  const name = `pair${made++}`
  return { certFile: join(folder, `${name}-cert.pem`), keyFile: join(folder, `${name}-key.pem`) }
}
type Files = ReturnType<typeof newFiles>

/** Replaces a file at once, as programs that renew certificates do. */
const replace = (file: string, content: string): void => {
  writeFileSync(`${file}.new`, content)
  renameSync(`${file}.new`, file)
}
const install = ({ certFile, keyFile }: Files, { certificate, key }: Signer): void => {
  replace(certFile, certificate)
  replace(keyFile, key)
}

/** Resolves after the handshake. */
const encrypted = (options: ConnectionOptions): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connectTls({ ...options, rejectUnauthorized: false }, () => resolve(socket))
    socket.once('error', reject)
    onTestFinished(() => {
      socket.destroy()
    })
  })

const startTls = async (port: number): Promise<TLSSocket> => {
  const { command, socket } = await connectSmtp(port)
  expect(await command('STARTTLS')).toMatch(/^220 /)
  socket.removeAllListeners('data')
  return encrypted({ socket })
}

const command = (socket: TLSSocket, line: string): Promise<string> =>
  new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString()))
    socket.write(`${line}\r\n`)
  })

const certificateOn = async (open: () => Promise<TLSSocket>): Promise<string> => {
  const socket = await open()
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const tlsEnv = ({ certFile, keyFile }: Files) => ({
  SMTP_SUBMISSION_TLS_CERT: certFile,
  SMTP_SUBMISSION_TLS_KEY: keyFile,
})

test('Both STARTTLS ports use a renewed certificate for new connections, and open ones go on', async () => {
  const files = newFiles()
  install(files, first)
  const t = await startSubmissionService({ env: { ...tlsEnv(files), INBOUND_SMTP_PORT: '0' } })
  onTestFinished(() => t.stop())
  const ports = [t.port, t.service.inboundSmtpPort() as number]
  const open = await Promise.all(ports.map(startTls))
  expect(open.map((socket) => socket.getPeerCertificate().fingerprint256)).toEqual(
    ports.map(() => fingerprintOf(first)),
  )
  install(files, second)
  for (const port of ports) {
    await expect.poll(() => certificateOn(() => startTls(port)), { timeout: 30_000 }).toBe(fingerprintOf(second))
  }
  for (const socket of open) expect(await command(socket, 'EHLO client.example.test')).toMatch(/^250[ -]/)
}, 60_000)

test('A port with implicit TLS uses a renewed certificate, and open connections go on', async () => {
  const files = newFiles()
  install(files, first)
  const t = await startSubmissionService({ env: { ...tlsEnv(files), SMTP_SUBMISSION_TLS: 'implicit' } })
  onTestFinished(() => t.stop())
  const connectHere = () => encrypted({ port: t.port, host: '127.0.0.1' })
  const open = await connectHere()
  const greeting = new Promise((resolve) => open.once('data', resolve))
  expect(open.getPeerCertificate().fingerprint256).toBe(fingerprintOf(first))
  await greeting
  install(files, second)
  await expect.poll(() => certificateOn(connectHere), { timeout: 30_000 }).toBe(fingerprintOf(second))
  expect(await command(open, 'EHLO client.example.test')).toMatch(/^250[ -]/)
}, 60_000)

/** A reloader on a server that records what it is given. */
const reloading = (files: Files) => {
  const applied: Buffer[] = []
  const errors: string[] = []
  const log = { ...silentLog(), error: (_: unknown, message: string) => void errors.push(message) } as unknown as Log
  const server = { updateSecureContext: ({ cert }: { cert: Buffer }) => applied.push(cert) } as unknown as SMTPServer
  const pair = { cert: Buffer.from(first.certificate), key: Buffer.from(first.key) }
  return { applied, errors, reload: makeReloadTls({ server, files, pair, log }) }
}

const refused = 'smtp certificate not reloaded, the previous one stays in use'

test('Unchanged files are not applied again', async () => {
  const files = newFiles()
  install(files, first)
  const { reload, applied, errors } = reloading(files)
  expect(await reload.check()).toBe(false)
  install(files, second)
  expect([await reload.check(), await reload.check()]).toEqual([true, false])
  expect([applied, errors]).toEqual([[Buffer.from(second.certificate)], []])
})

test('A pair that does not match, is missing or is no certificate is reported once and not applied', async () => {
  const files = newFiles()
  install(files, first)
  const { reload, applied, errors } = reloading(files)
  replace(files.certFile, second.certificate)
  expect([await reload.check(), await reload.check()]).toEqual([false, false])
  expect(errors).toEqual([refused])
  replace(files.certFile, 'not a certificate')
  expect(await reload.check()).toBe(false)
  rmSync(files.certFile)
  expect([await reload.check(), await reload.check()]).toEqual([false, false])
  expect([applied, errors]).toEqual([[], [refused, refused, refused]])
  install(files, second)
  expect(await reload.check()).toBe(true)
  expect(applied).toHaveLength(1)
})
