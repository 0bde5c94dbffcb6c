/**
 * The published conformance runner of the tool protocol. Its other scenarios call tools, prompts and resources of a sample
 * server by their names, or need sessions, which the service does not have.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../service/service.ts'

const runner = fileURLToPath(
  new URL('dist/index.js', import.meta.resolve('@modelcontextprotocol/conformance/package.json')),
)

const t = await startTestService()
const { live } = (await t.org()).keys

/** The runner has no option for a key, so a proxy adds it. A page of the proxy counts as one of the service. */
const proxy = createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${live}` }
  if (headers.origin === proxyUrl) headers.origin = t.url
  const forwarded = request(new URL(incoming.url ?? '/', t.url), { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  incoming.pipe(forwarded)
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
const folder = await mkdtemp(join(tmpdir(), 'tidings-conformance-'))

afterAll(async () => {
  proxy.close()
  await rm(folder, { recursive: true, force: true })
  await t.stop()
})

test.each(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])(
  'XD-30 the scenario %s of the conformance runner passes',
  async (scenario) => {
    const args = [runner, 'server', '--url', `${proxyUrl}/api/mcp`, '--scenario', scenario, '--output-dir', folder]
    const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { stdout: string }) => error)
    expect(stdout).toMatch(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
  },
)
