import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { askWith, memberCookie } from '../../../test/clients/people.ts'
import { entriesAbout } from '../../../test/clients/sign-in-client.ts'
import {
  acsPath,
  answerFor,
  beginSaml,
  idpEntityId,
  idpKey,
  idpSsoUrl,
  newSamlOrg,
  newSsoOrg,
  postResponse,
  signInWithSaml,
  ssoBrowser,
} from '../../../test/clients/sso-client.ts'
import { startDnsServer } from '../../../test/servers/dns-server.ts'
import { idpMetadata, newSigningKey, signedResponse } from '../../../test/servers/identity-provider.ts'
import { startTestService } from '../../../test/service/service.ts'
import { selfSignedCertificate } from './saml/self-signed.ts'

const dns = await startDnsServer()
const t = await startTestService({ env: { DNS_SERVERS: dns.address, WEBHOOK_ALLOW_INSECURE: 'true' } })
let served: { status: number; body: string; hang?: true; location?: string } = { status: 404, body: '' }
const web = createServer((_, response) => {
  if (served.hang) return
  response.writeHead(served.status, served.location === undefined ? {} : { location: served.location })
  response.end(served.body)
})
web.listen(0, '127.0.0.1')
await once(web, 'listening')
const metadataUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}/metadata`
afterAll(async () => {
  await t.stop()
  await dns.close()
  web.closeAllConnections()
  web.close()
})

const second = newSigningKey()
const single = { idp_entity_id: idpEntityId, idp_sso_url: idpSsoUrl, idp_certificates: [idpKey.certificate] }
const messageOf = ({ status, body }: { status: number; body: { errors?: { path: string[]; message: string }[] } }) => [
  status,
  body.errors?.[0]?.path[0],
  body.errors?.[0]?.message,
]

describe('the settings', () => {
  test('AD-137 R-48 are nulls while nothing is configured, and every role reads them', async () => {
    const org = await newSsoOrg(t)
    const { body } = await org.ask('GET', '/api/internal/sso')
    expect(body).toEqual({
      protocol: null,
      idp_entity_id: null,
      idp_sso_url: null,
      idp_certificates: [],
      oidc_issuer: null,
      oidc_client_id: null,
      sp: {
        entity_id: `${t.url}/api/auth/saml/metadata?org=${org.slug}`,
        acs_url: `${t.url}/api/auth/saml/acs?org=${org.slug}`,
        metadata_url: `${t.url}/api/auth/saml/metadata?org=${org.slug}`,
        redirect_uri: `${t.url}/api/auth/sso/callback`,
        login_url: `${t.url}/api/auth/sso/login?org=${org.slug}`,
      },
      email_domains: [
        { domain: org.domain, verified: true, txt_name: `_service-sso.${org.domain}`, txt_value: 'service-sso=proven' },
      ],
      default_role: 'viewer',
      jit_provisioning: true,
      allow_idp_initiated: false,
      enforced: false,
      members_outside_domains: 0,
      tested: false,
      last_login_at: null,
      updated_at: null,
    })
    const viewer = await askWith(t, await memberCookie(t, org.orgId, 'viewer'), 'GET', '/api/internal/sso')
    expect(viewer.body).toEqual({ ...body, members_outside_domains: 1 })
  })

  test('A-055 AD-137 take the three single fields, keep what is not given, and write an audit row', async () => {
    const org = await newSsoOrg(t)
    const put = await org.ask('PUT', '/api/internal/sso', { ...single, default_role: 'developer' })
    expect([put.status, put.body.protocol, put.body.default_role]).toEqual([200, 'saml', 'developer'])
    expect(put.body.idp_certificates).toEqual([
      { fingerprint_sha256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/), expires_at: expect.any(String) },
    ])
    const changed = await org.ask('PUT', '/api/internal/sso', { jit_provisioning: false })
    expect(changed.body).toMatchObject({
      idp_entity_id: idpEntityId,
      default_role: 'developer',
      jit_provisioning: false,
    })
    await org.ask('PUT', '/api/internal/sso', { jit_provisioning: false })
    const entries = (await entriesAbout(t, org.ownerId)).filter(({ action }) => action === 'org.sso_updated')
    expect(entries.map(({ metadata }) => (metadata as { changed: string[] }).changed.at(-1))).toEqual([
      'allow_idp_initiated',
      'jit_provisioning',
    ])
    const role = await org.ask('PUT', '/api/internal/sso', { default_role: 'owner' })
    expect([role.status, role.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('AD-137 R-48 take metadata as XML or as an address', async () => {
    const xml = idpMetadata('https://idp.example.com/m', 'https://idp.example.com/login', [idpKey.certificate])
    const [byXml, byUrl] = [await newSsoOrg(t), await newSsoOrg(t)]
    const first = await byXml.ask('PUT', '/api/internal/sso', { idp_metadata_xml: xml })
    served = { status: 200, body: xml }
    const second = await byUrl.ask('PUT', '/api/internal/sso', { idp_metadata_url: metadataUrl })
    for (const { status, body } of [first, second]) {
      expect([status, body.idp_entity_id, body.idp_sso_url, body.idp_certificates.length]).toEqual([
        200,
        'https://idp.example.com/m',
        'https://idp.example.com/login',
        1,
      ])
    }
  })

  test('a certificate is rolled over: both are accepted, the configuration stays tested, then the old one goes', async () => {
    const org = await newSamlOrg(t)
    await signInWithSaml(t, ssoBrowser(t), org, `tester@${org.domain}`)
    await org.ask('PUT', '/api/internal/sso', { enforced: true })
    const both = { ...single, idp_certificates: [idpKey.certificate, second.certificate] }
    expect((await org.ask('PUT', '/api/internal/sso', both)).body).toMatchObject({ tested: true, enforced: true })
    const signedWith = async (key: typeof idpKey) => {
      const who = ssoBrowser(t)
      const answer = answerFor(t, org, `tester@${org.domain}`, await beginSaml(who, org))
      return (await postResponse(who, acsPath(org), signedResponse(answer, key))).headers.location
    }
    expect([await signedWith(idpKey), await signedWith(second)]).toEqual(['/', '/'])
    const rolled = await org.ask('PUT', '/api/internal/sso', { ...single, idp_certificates: [second.certificate] })
    expect(rolled.body).toMatchObject({ tested: true, enforced: true })
    expect([await signedWith(idpKey), await signedWith(second)]).toEqual(['/login?error=sso_failed', '/'])
  })

  test('R-48 another identity provider is untested, and the same one stays tested', async () => {
    const org = await newSamlOrg(t)
    await signInWithSaml(t, ssoBrowser(t), org, `tester@${org.domain}`)
    expect((await org.ask('PUT', '/api/internal/sso', single)).body.tested).toBe(true)
    const other = await org.ask('PUT', '/api/internal/sso', { ...single, idp_certificates: [second.certificate] })
    expect(other.body.tested).toBe(false)
  })

  test('a sign-in that began before the identity provider was replaced does not count as its test', async () => {
    const org = await newSamlOrg(t)
    const who = ssoBrowser(t)
    const answer = answerFor(t, org, `tester@${org.domain}`, await beginSaml(who, org))
    await org.ask('PUT', '/api/internal/sso', { ...single, idp_certificates: [second.certificate] })
    const reply = await postResponse(who, acsPath(org), signedResponse(answer, idpKey))
    expect(reply.headers.location).toBe('/login?error=sso_failed')
    expect((await org.ask('GET', '/api/internal/sso')).body.tested).toBe(false)
  })
})

describe('what cannot be configured', () => {
  const weak = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey
  const cases: [string, Record<string, unknown>, string][] = [
    ['nothing', {}, 'idp_metadata_xml'],
    ['two ways at once', { ...single, idp_metadata_url: metadataUrl }, 'idp_metadata_url'],
    ['a missing field', { ...single, idp_sso_url: undefined }, 'idp_sso_url'],
    ['an address that is not https', { ...single, idp_sso_url: 'javascript:alert(1)' }, 'idp_sso_url'],
    ['a text that is no certificate', { ...single, idp_certificates: ['hello world'] }, 'idp_certificates'],
    [
      'a short key',
      { ...single, idp_certificates: [selfSignedCertificate(weak, 'x', new Date(), new Date())] },
      'idp_certificates',
    ],
    ['metadata that is no XML', { idp_metadata_xml: 'nope' }, 'idp_metadata_xml'],
    ['metadata with a document type', { idp_metadata_xml: '<!DOCTYPE x><x/>' }, 'idp_metadata_xml'],
    ['metadata of a service', { idp_metadata_xml: '<EntityDescriptor xmlns="urn:x"/>' }, 'idp_metadata_xml'],
    ['both protocols', { ...single, oidc_issuer: 'https://x.test', oidc_client_id: 'x' }, 'protocol'],
    ['an issuer without a secret', { oidc_issuer: 'https://x.test', oidc_client_id: 'x' }, 'oidc_client_secret'],
  ]
  test.each(cases)('AD-137 %s is 422 at its field', async (_, body, field) => {
    const org = await newSsoOrg(t)
    const reply = await org.ask('PUT', '/api/internal/sso', body)
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, [field]])
    expect((await org.ask('GET', '/api/internal/sso')).body.protocol).toBeNull()
  })

  test('a metadata address that is down, lies or leads elsewhere is 422, and nothing is stored', async () => {
    const org = await newSsoOrg(t)
    const put = async (url = metadataUrl) =>
      messageOf(await org.ask('PUT', '/api/internal/sso', { idp_metadata_url: url }))
    served = { status: 500, body: '' }
    expect(await put()).toEqual([422, 'idp_metadata_url', 'The metadata address responded with 500.'])
    served = { status: 302, body: '', location: metadataUrl }
    expect(await put()).toEqual([422, 'idp_metadata_url', 'The metadata address responded with 302.'])
    served = { status: 200, body: `<x>${'y'.repeat(600_000)}</x>` }
    expect(await put()).toEqual([422, 'idp_metadata_url', 'The metadata is too large.'])
    served = { status: 200, body: '<html></html>' }
    expect(await put()).toEqual([422, 'idp_metadata_url', 'The metadata must describe one entity.'])
    expect(await put('http://127.0.0.1:1/')).toEqual([
      422,
      'idp_metadata_url',
      'The metadata could not be fetched: url not allowed.',
    ])
    expect(await put('http://169.254.169.254/latest/meta-data')).toEqual([
      422,
      'idp_metadata_url',
      'The metadata could not be fetched: url not allowed.',
    ])
    expect((await org.ask('GET', '/api/internal/sso')).body.protocol).toBeNull()
  })
})

describe('email domains', () => {
  test('AD-137 R-52 are verified by a TXT record, asked of DNS_SERVERS', async () => {
    const org = await newSsoOrg(t)
    const domain = `new-${org.slug}.example.org`
    const added = await org.ask('POST', '/api/internal/sso/domains', { domain: domain.toUpperCase() })
    expect([added.status, added.body]).toEqual([
      201,
      {
        domain,
        verified: false,
        txt_name: `_service-sso.${domain}`,
        txt_value: expect.stringMatching(/^service-sso=\w{32}$/),
      },
    ])
    const again = await org.ask('POST', '/api/internal/sso/domains', { domain })
    expect([again.status, again.body]).toEqual([200, added.body])
    const verify = async () => (await org.ask('POST', '/api/internal/sso/domains/verify', { domain })).body.verified
    expect(await verify()).toBe(false)
    dns.zones.set(`_service-sso.${domain}`, { TXT: ['service-sso=another'] })
    expect(await verify()).toBe(false)
    dns.zones.set(`_service-sso.${domain}`, 'SERVFAIL')
    expect(await verify()).toBe(false)
    dns.zones.set(`_service-sso.${domain}`, { TXT: ['other', added.body.txt_value] })
    expect(await verify()).toBe(true)
    expect(dns.asked).toContain(`TXT _service-sso.${domain}`)
    dns.zones.delete(`_service-sso.${domain}`)
    expect(await verify()).toBe(true)
    expect(await t.service.sso.domains.isVerifiedFor(org.orgId, `ann@${domain}`)).toBe(true)
    expect(await t.service.sso.domains.isVerifiedFor(org.orgId, `ann@x.${domain}`)).toBe(false)
    const changes = (await entriesAbout(t, org.ownerId)).map(({ metadata }) => metadata)
    expect(changes).toEqual([
      { domain, change: 'domain_added' },
      { domain, change: 'domain_verified' },
    ])
    expect((await org.ask('DELETE', `/api/internal/sso/domains?domain=${domain}`)).status).toBe(204)
    expect(await t.service.sso.domains.verifiedDomains(org.orgId)).toEqual([org.domain])
  })

  test('belong to one org: another org neither sees nor verifies nor removes them', async () => {
    const [org, other] = [await newSsoOrg(t), await newSsoOrg(t)]
    const { domain } = org
    expect((await other.ask('POST', '/api/internal/sso/domains/verify', { domain })).status).toBe(404)
    expect((await other.ask('DELETE', `/api/internal/sso/domains?domain=${domain}`)).status).toBe(404)
    const added = await other.ask('POST', '/api/internal/sso/domains', { domain })
    expect(added.body).toMatchObject({ domain, verified: false })
    expect(await t.service.sso.domains.isVerifiedFor(other.orgId, `ann@${domain}`)).toBe(false)
  })

  test.each(['com', 'co.uk', 'not a domain', '127.0.0.1', 'a@b.com'])('%s is not an email domain', async (domain) => {
    const org = await newSsoOrg(t)
    const reply = await org.ask('POST', '/api/internal/sso/domains', { domain })
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, ['domain']])
  })
})

test('AD-68 deleting the org ends its single sign-on', async () => {
  const org = await newSamlOrg(t)
  expect((await org.ask('DELETE', '/api/internal/org', { confirm: org.slug })).status).toBe(200)
  const reply = await ssoBrowser(t).ask('GET', `/api/auth/saml/login?org=${org.slug}`)
  expect(reply.headers.location).toBe('/login?error=sso_failed')
  expect(await t.database.sql('select 1 from sso_connections where org_id = $1', [org.orgId])).toEqual([])
  expect(await t.database.sql('select 1 from org_email_domains where org_id = $1', [org.orgId])).toEqual([])
})
