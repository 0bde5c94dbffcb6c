import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopeProbes } from '../../../test/service/probes.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { addressBehindProxies, callerAddress } from './caller-address.ts'

const seen = (peer: string | undefined, forwarded: string | undefined, env: Record<string, string> = {}) =>
  addressBehindProxies(peer, forwarded, readConfig(env))

describe('the address of a caller', () => {
  test.each([
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.7.7',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:c0a8:1',
  ])('X-009 is read from X-Forwarded-For by default when the peer is %s', (peer) => {
    expect(seen(peer, '203.0.113.9')).toBe('203.0.113.9')
  })

  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['126.255.255.255', '126.255.255.255'],
    ['128.0.0.1', '128.0.0.1'],
    ['9.255.255.255', '9.255.255.255'],
    ['11.0.0.0', '11.0.0.0'],
    ['172.15.255.255', '172.15.255.255'],
    ['172.32.0.0', '172.32.0.0'],
    ['192.167.255.255', '192.167.255.255'],
    ['192.169.0.0', '192.169.0.0'],
    ['169.253.0.1', '169.253.0.1'],
    ['100.64.0.1', '100.64.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['2001:db8::1', '2001:db8::1'],
    ['::2', '::2'],
    ['fbff::1', 'fbff::1'],
    ['fec0::1', 'fec0::1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['::ffff:c633:6401', '198.51.100.1'],
    ['not an address', null],
    ['', null],
    [undefined, null],
  ])('X-009 ignores X-Forwarded-For by default when the peer is %s', (peer, address) => {
    for (const forwarded of [undefined, '', '203.0.113.9', '127.0.0.1', '203.0.113.9, 10.0.0.1', 'nonsense']) {
      expect(seen(peer, forwarded), String(forwarded)).toBe(address)
    }
  })

  test.each([
    ['0', '203.0.113.9', '10.0.0.1'],
    ['0', undefined, '10.0.0.1'],
    ['1', undefined, '10.0.0.1'],
    ['1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['1', '203.0.113.9:51234', '203.0.113.9'],
    ['1', '[2001:DB8::1]:443', '2001:db8::1'],
    ['1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['1', '203.0.113.9,', null],
    ['1', '', null],
    ['1', 'unknown', null],
    ['1', 'fe80::1%eth0', null],
    ['2', '1.1.1.1, 2.2.2.2,3.3.3.3', '2.2.2.2'],
    ['2', '3.3.3.3', null],
    ['16', '3.3.3.3', null],
  ])('X-009 with %s trusted hops and X-Forwarded-For %j is %s', (TRUSTED_PROXY_HOPS, forwarded, address) => {
    expect(seen('10.0.0.1', forwarded, { TRUSTED_PROXY_HOPS })).toBe(address)
  })

  test.each([
    ['198.51.100.7', '203.0.113.9'],
    ['::ffff:198.51.100.7', '203.0.113.9'],
    ['198.51.100.8', '198.51.100.8'],
    ['192.0.2.255', '203.0.113.9'],
    ['2001:db8:1::5', '203.0.113.9'],
    ['2001:db8:2::5', '2001:db8:2::5'],
    ['127.0.0.1', '127.0.0.1'],
    ['10.0.0.1', '10.0.0.1'],
  ])('X-009 with TRUSTED_PROXIES set is, for the peer %s, %s', (peer, address) => {
    const TRUSTED_PROXIES = '198.51.100.7, 192.0.2.0/24, 2001:db8:1::/48'
    expect(seen(peer, '203.0.113.9', { TRUSTED_PROXIES })).toBe(address)
  })

  test('X-009 is read from all X-Forwarded-For lines of a request as one list', async () => {
    const app = Fastify()
    app.get('/', async (request) => ({ address: callerAddress(request.raw, readConfig({ TRUSTED_PROXY_HOPS: '2' })) }))
    const headers = { 'x-forwarded-for': ['1.1.1.1, 2.2.2.2', '3.3.3.3'] as unknown as string }
    const from = (remoteAddress: string) => app.inject({ url: '/', headers, remoteAddress })
    expect((await from('::ffff:10.0.0.1')).json()).toEqual({ address: '2.2.2.2' })
    expect((await from('::ffff:198.51.100.1')).json()).toEqual({ address: '198.51.100.1' })
    await app.close()
  })
})

describe('a service with TRUSTED_PROXIES', () => {
  let t: TestService
  beforeAll(async () => {
    t = await startTestService({ routes: scopeProbes })
  })
  afterAll(() => t.stop())

  test.each([
    ['198.51.100.7', '127.0.0.1'],
    ['127.0.0.1', '203.0.113.9'],
    ['127.0.0.0/8', '203.0.113.9'],
    ['::ffff:127.0.0.1', '203.0.113.9'],
    ['::1', '127.0.0.1'],
    ['', '203.0.113.9'],
  ])('X-009 %j sees a request from 127.0.0.1 for 203.0.113.9 as %s', async (TRUSTED_PROXIES, address) => {
    const service = await startTestService({ database: t.database, env: { TRUSTED_PROXIES }, routes: scopeProbes })
    const { org, keys } = await t.org()
    const bound = await t.key(org.id, { allowedCidrs: ['203.0.113.0/24'] })
    const read = (key: string) =>
      service.ask('GET', '/api/v1/probe/read-keys', { key, headers: { 'x-forwarded-for': '203.0.113.9' } })
    const [plain, restricted] = [await read(keys.live), await read(bound)]
    await service.stop()
    expect([plain.status, plain.body.address]).toEqual([200, address])
    expect([restricted.status, restricted.body.error?.code]).toEqual(
      address === '203.0.113.9' ? [200, undefined] : [403, 'IP_NOT_ALLOWED'],
    )
  })
})
