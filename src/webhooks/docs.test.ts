/** Runs the verification code of docs/webhooks.md unchanged, against a real delivery. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import { startReceiver } from '../../test/servers/receiver.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/webhooks.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tidings-docs-'))
const receiver = await startReceiver()
const t = await startWebhookService()
afterAll(async () => {
  await t.stop()
  await receiver.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The code block in this language that verifies a webhook. */
const blockOf = (language: string): string => {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
  const found = blocks.map((match) => match[1] as string).find((text) => /verify_?webhook/i.test(text))
  if (found === undefined) throw new Error(`docs/webhooks.md has no ${language} block that verifies a webhook`)
  return found
}

const acme = webhookClient(t, await t.org())
const { secret } = (await acme.create({ url: receiver.url })).body as { secret: string }
await acme.emit({ data: { message_id: 'msg_1', text: 'Grüße, "quoted" and $HOME' } })
await acme.run()
const [got] = receiver.got
if (!got) throw new Error('the receiver got no delivery')
const timestamp = got.headers['x-service-timestamp'] as string
const signature = got.headers['x-service-signature-v2'] as string

type Case = { body: string; timestamp: string; signature: string; secret: string }
const genuine: Case = { body: got.text, timestamp, signature, secret }
const forged: Record<string, Case> = {
  'a changed body': { ...genuine, body: `${got.text} ` },
  'another secret': { ...genuine, secret: `whsec_${'A'.repeat(43)}` },
  'another timestamp': { ...genuine, timestamp: String(Number(timestamp) + 1) },
  'no signature': { ...genuine, signature: '' },
  'half a signature': { ...genuine, signature: signature.slice(0, 32) },
  'the older signature': { ...genuine, signature: got.headers['x-service-signature'] as string },
  'no timestamp': { ...genuine, timestamp: '' },
  'a timestamp that is not a number': { ...genuine, timestamp: 'now' },
}
/** Signed correctly, with a time that many seconds from the clock of the receiver. */
const signedAtOffset = async (seconds: number): Promise<Case> => {
  const { createHmac } = await import('node:crypto')
  const at = String(Math.floor(Date.now() / 1000) + seconds)
  const signed = createHmac('sha256', secret).update(`${at}.${got.text}`).digest('hex')
  return { ...genuine, timestamp: at, signature: signed }
}

type Verify = (received: Case) => boolean | Promise<boolean>
const expectCorrect = async (verify: Verify): Promise<void> => {
  expect(await verify(genuine)).toBe(true)
  for (const [name, received] of Object.entries(forged)) expect(await verify(received), name).toBe(false)
  for (const seconds of [-290, 290]) expect(await verify(await signedAtOffset(seconds)), `${seconds} s`).toBe(true)
  for (const seconds of [-310, 310]) expect(await verify(await signedAtOffset(seconds)), `${seconds} s`).toBe(false)
}

const isInstalled = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const headersOf = (received: Case) => ({
  'x-service-timestamp': received.timestamp,
  'x-service-signature-v2': received.signature,
})

describe('the verification code in the documentation', () => {
  test('X-076 XD-14 the TypeScript code accepts genuine deliveries and rejects forged ones', async () => {
    const file = join(folder, 'verify.ts')
    writeFileSync(file, blockOf('ts'))
    const { verifyWebhook } = await import(/* @vite-ignore */ pathToFileURL(file).href)
    await expectCorrect((received) =>
      verifyWebhook(Buffer.from(received.body), headersOf(received), ['whsec_old', received.secret]),
    )
  })

  test('X-076 XD-14 the Python code accepts genuine deliveries and rejects forged ones', async ({ skip }) => {
    if (!isInstalled('python3', '--version')) {
      console.warn('NOT PROVEN: python3 is not installed')
      skip('python3 is not installed')
    }
    const driver = [
      blockOf('python'),
      'import json, sys',
      'c = json.load(sys.stdin)',
      'sys.exit(0 if verify_webhook(c["body"].encode(), c["headers"], ["whsec_old", c["secret"]]) else 9)',
    ]
    const file = join(folder, 'verify.py')
    writeFileSync(file, driver.join('\n'))
    await expectCorrect((received) => {
      const input = JSON.stringify({ ...received, headers: headersOf(received) })
      const { status, stderr } = spawnSync('python3', [file], { input })
      expect([0, 9], stderr.toString()).toContain(status)
      return status === 0
    })
  })

  test('X-076 XD-14 the shell code accepts genuine deliveries and rejects forged ones', async ({ skip }) => {
    if (!isInstalled('openssl', 'version') || !isInstalled('sh', '-c', 'true')) {
      console.warn('NOT PROVEN: openssl or sh is not installed')
      skip('openssl or sh is not installed')
    }
    const file = join(folder, 'verify.sh')
    writeFileSync(file, `${blockOf('sh')}\nverify_webhook "$@" || exit 9\n`)
    await expectCorrect((received) => {
      const body = join(folder, 'body')
      writeFileSync(body, received.body)
      const { status, stderr } = spawnSync('sh', [file, body, received.timestamp, received.signature, received.secret])
      expect([0, 9], stderr.toString()).toContain(status)
      return status === 0
    })
  })

  test('X-076 X-156 XD-12 XD-14 the page contains the rules that receivers have to follow', () => {
    for (const rule of [
      '5 minutes (300 seconds)',
      'constant time',
      '3 days',
      'Keep the latest status per',
      'accept both secrets',
      'X-Service-Signature-V2',
      'Build on this one',
      'Deduplicate on',
      'No order',
    ]) {
      expect(page).toContain(rule)
    }
  })
})
