/** Sends mail through a real Postfix, where Debian's package is installed, to a receiving server. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { dkimKeys, faultOf, selfSigned, testMail, to } from '../../../test/providers/email.ts'
import { systemClock } from '../../platform/ground/clock.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeSmtpProvider } from './smtp.ts'

const run = promisify(execFile)
const postfix = '/usr/sbin/postfix'
/** Postfix must be started as root. */
const canRunPostfix = existsSync(postfix) && process.getuid?.() === 0

type ReceivedMail = { to: string[]; raw: Buffer }

const startReceivingServer = async () => {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData: (stream, session, done) => {
      void buffer(stream).then((raw) => {
        received.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw })
        done()
      }, done)
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  return { received, port: (listening.address() as AddressInfo).port }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The master.cf of Postfix, with no service in a chroot. */
const services = (port: number): string =>
  [
    `127.0.0.1:${port} inet n - n - - smtpd`,
    ...['cleanup', 'showq'].map((name) => `${name} unix n - n - 0 ${name}`),
    'pickup unix n - n 60 1 pickup',
    'qmgr unix n - n 300 1 qmgr',
    'rewrite unix - - n - - trivial-rewrite',
    ...['bounce', 'defer', 'trace'].map((name) => `${name} unix - - n - 0 bounce`),
    ...['error', 'retry'].map((name) => `${name} unix - - n - - error`),
    ...['smtp', 'proxymap', 'scache', 'tlsmgr', 'anvil', 'verify', 'flush'].map(
      (name) => `${name} unix - - n - ${name === 'smtp' || name === 'proxymap' ? '-' : '1'} ${name}`,
    ),
    'postlog unix-dgram n - n - 1 postlogd',
    '',
  ].join('\n')

/** Starts a separate Postfix instance in a temporary folder. It relays all mail to the given local port. */
const startPostfix = async (nextPort: number): Promise<{ port: number; journal: () => Promise<string> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-postfix-'))
  await chmod(folder, 0o755)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const at = (name: string) => join(folder, name)
  const [port, signer] = [await freePort(), await selfSigned('relay.test')]
  for (const name of ['config', 'queue', 'data']) await mkdir(at(name))
  await run('chown', ['postfix', at('data')])
  await writeFile(at('config/tls.pem'), `${signer.key}${signer.certificate}`, { mode: 0o600 })
  await writeFile(at('config/master.cf'), services(port))
  await writeFile(
    at('config/main.cf'),
    [
      'compatibility_level = 3.6',
      `queue_directory = ${at('queue')}`,
      `data_directory = ${at('data')}`,
      `maillog_file = ${at('journal')}`,
      `maillog_file_prefixes = ${folder}`,
      'myhostname = relay.test',
      'mydestination =',
      'inet_interfaces = 127.0.0.1',
      'inet_protocols = ipv4',
      'mynetworks = 127.0.0.0/8',
      `relayhost = [127.0.0.1]:${nextPort}`,
      `default_transport = smtp:[127.0.0.1]:${nextPort}`,
      'disable_dns_lookups = yes',
      'smtp_tls_security_level = none',
      'smtp_host_lookup = native',
      'smtputf8_enable = yes',
      'alias_maps =',
      'alias_database =',
      `smtpd_tls_chain_files = ${at('config/tls.pem')}`,
      'smtpd_tls_security_level = encrypt',
      'smtpd_peername_lookup = no',
      'smtpd_recipient_restrictions = check_recipient_access inline:{{gone@reader.test = 550 5.1.1 no such mailbox} {later@reader.test = 450 4.7.28 too many messages}}, permit_mynetworks, reject',
      '',
    ].join('\n'),
  )
  const command = (verb: string) => run(postfix, ['-c', at('config'), verb], { timeout: 30_000 })
  await command('start')
  onTestFinished(async () => {
    await command('stop').catch(() => undefined)
  })
  return { port, journal: () => readFile(at('journal'), 'utf8') }
}

test('Postfix relays mail over TLS unchanged, and its rejections are classified', async ({ skip }) => {
  skip(!canRunPostfix, 'needs /usr/sbin/postfix (Debian: apt-get install postfix) and root')
  const receiver = await startReceivingServer()
  const relay = await startPostfix(receiver.port)
  const provider = makeSmtpProvider({
    url: `smtp://127.0.0.1:${relay.port}?tls=require&verify=off`,
    poolSize: 2,
    clock: systemClock,
    log: silentLog(),
  })
  onTestFinished(() => provider.close())
  const { privateKey, record } = dkimKeys()
  const dkim = { domain: 'example.test', selector: 'svc1', privateKey }
  const mail = testMail({
    to: to('ann@reader.test', 'gone@reader.test'),
    cc: to('jürgen@bücher.test'),
    subject: 'Grüße an 東京',
    text: `.\n..\n${'long '.repeat(400)}\nend`,
    attachments: [{ filename: 'menü.pdf', contentType: 'application/pdf', content: Buffer.alloc(200_000, 9) }],
    dkim,
  })
  const handed = await provider.send(mail)
  expect(handed.reports).toMatchObject([
    { kind: 'hard_bounce', recipients: ['gone@reader.test'], detail: expect.stringContaining('550 5.1.1') },
  ])
  expect(await relay.journal()).toContain(`${handed.providerMessageId}: client=`)
  await expect.poll(() => receiver.received.length).toBe(1)
  const [relayed] = receiver.received as [ReceivedMail]
  expect(relayed.to.toSorted()).toEqual(['ann@reader.test', 'jürgen@bücher.test'])
  const read = await PostalMime.parse(relayed.raw)
  expect([read.subject, read.attachments[0]?.filename]).toEqual(['Grüße an 東京', 'menü.pdf'])
  expect(read.text?.replaceAll('\r\n', '\n').trimEnd()).toBe(mail.text)
  const { results } = await dkimVerify(relayed.raw, { resolver: async () => [[record]] })
  expect(results.map(({ status }) => status.result)).toEqual(['pass'])

  const kindFor = async (address: string) => (await faultOf(provider.send(testMail({ to: to(address) })))).kind
  expect([await kindFor('gone@reader.test'), await kindFor('later@reader.test')]).toEqual(['refused', 'throttled'])
  expect(receiver.received).toHaveLength(1)
})
