/** The verification code of docs/webhooks.md, run as it stands there against a delivery that arrived. */
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

/** The block of that language which verifies. */
const blockOf = (language: string): string => {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
  const found = blocks.map((match) => match[1] as string).find((text) => /verify_?webhook/i.test(text))
  if (found === undefined) throw new Error(`docs/webhooks.md verifies nothing in ${language}`)
  return found
}

const acme = webhookClient(t, await t.org())
const { secret } = (await acme.create({ url: receiver.url })).body as { secret: string }
await acme.emit({ data: { message_id: 'msg_1', text: 'Grüße, "quoted" and $HOME' } })
await acme.run()
const [got] = receiver.got
if (!got) throw new Error('nothing arrived')
const timestamp = got.headers['x-service-timestamp'] as string
const signature = got.headers['x-service-signature-v2'] as string

type Case = { body: string; timestamp: string; signature: string; secret: string }
const genuine: Case = { body: got.text, timestamp, signature, secret }
const forged: Record<string, Case> = {
  'a changed body': { ...genuine, body: `${got.text} ` },
  'another secret': { ...genuine, secret: `whsec_${'A'.repeat(43)}` },
  'another time': { ...genuine, timestamp: String(Number(timestamp) + 1) },
  'no signature': { ...genuine, signature: '' },
  'half a signature': { ...genuine, signature: signature.slice(0, 32) },
  'the older signature': { ...genuine, signature: got.headers['x-service-signature'] as string },
  'no time': { ...genuine, timestamp: '' },
  'a time in words': { ...genuine, timestamp: 'now' },
}
/** Rightly signed, too far from the clock of whoever verifies. */
const distant = async (seconds: number): Promise<Case> => {
  const { createHmac } = await import('node:crypto')
  const at = String(Math.floor(Date.now() / 1000) + seconds)
  const signed = createHmac('sha256', secret).update(`${at}.${got.text}`).digest('hex')
  return { ...genuine, timestamp: at, signature: signed }
}

type Verify = (given: Case) => boolean | Promise<boolean>
const judged = async (verify: Verify): Promise<void> => {
  expect(await verify(genuine)).toBe(true)
  for (const [name, given] of Object.entries(forged)) expect(await verify(given), name).toBe(false)
  for (const seconds of [-290, 290]) expect(await verify(await distant(seconds)), `${seconds} s`).toBe(true)
  for (const seconds of [-310, 310]) expect(await verify(await distant(seconds)), `${seconds} s`).toBe(false)
}

const there = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const headersOf = (given: Case) => ({
  'x-service-timestamp': given.timestamp,
  'x-service-signature-v2': given.signature,
})

describe('the verification code in the documentation', () => {
  test('X-076 XD-14 in TypeScript takes what is genuine and nothing else', async () => {
    const file = join(folder, 'verify.ts')
    writeFileSync(file, blockOf('ts'))
    const { verifyWebhook } = await import(/* @vite-ignore */ pathToFileURL(file).href)
    await judged((given) => verifyWebhook(Buffer.from(given.body), headersOf(given), ['whsec_old', given.secret]))
  })

  test('X-076 XD-14 in Python takes what is genuine and nothing else', async ({ skip }) => {
    if (!there('python3', '--version')) {
      console.warn('NOT PROVEN: python3 is not on this machine')
      skip('python3 is not on this machine')
    }
    const driver = [
      blockOf('python'),
      'import json, sys',
      'c = json.load(sys.stdin)',
      'sys.exit(0 if verify_webhook(c["body"].encode(), c["headers"], ["whsec_old", c["secret"]]) else 9)',
    ]
    const file = join(folder, 'verify.py')
    writeFileSync(file, driver.join('\n'))
    await judged((given) => {
      const input = JSON.stringify({ ...given, headers: headersOf(given) })
      const { status, stderr } = spawnSync('python3', [file], { input })
      expect([0, 9], stderr.toString()).toContain(status)
      return status === 0
    })
  })

  test('X-076 XD-14 in shell takes what is genuine and nothing else', async ({ skip }) => {
    if (!there('openssl', 'version') || !there('sh', '-c', 'true')) {
      console.warn('NOT PROVEN: openssl or sh is not on this machine')
      skip('openssl or sh is not on this machine')
    }
    const file = join(folder, 'verify.sh')
    writeFileSync(file, `${blockOf('sh')}\nverify_webhook "$@" || exit 9\n`)
    await judged((given) => {
      const body = join(folder, 'body')
      writeFileSync(body, given.body)
      const { status, stderr } = spawnSync('sh', [file, body, given.timestamp, given.signature, given.secret])
      expect([0, 9], stderr.toString()).toContain(status)
      return status === 0
    })
  })

  test('X-076 X-156 XD-12 XD-14 the page says what receivers must know', () => {
    for (const said of [
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
      expect(page).toContain(said)
    }
  })
})
