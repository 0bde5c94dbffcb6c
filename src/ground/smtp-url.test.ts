import { expect, test } from 'vitest'
import { parseSmtpUrl } from './smtp-url.ts'

test('an address alone: STARTTLS when offered, the port of submission, a certificate that holds', () => {
  expect(parseSmtpUrl('smtp://relay.example')).toEqual({
    host: 'relay.example',
    port: 587,
    implicitTls: false,
    startTls: 'offered',
    verify: true,
    credentials: undefined,
    name: undefined,
  })
  expect(parseSmtpUrl('smtps://[::1]')).toMatchObject({ host: '::1', port: 465, implicitTls: true })
})

test('credentials require TLS unless the relay is on this machine or the operator says otherwise', () => {
  const of = (text: string) => parseSmtpUrl(text)?.startTls
  expect(of('smtp://u:p@relay.example')).toBe('require')
  expect(of('smtp://u:p@relay.example?tls=off')).toBe('off')
  for (const here of ['localhost', '127.0.0.1', '[::1]']) expect(of(`smtp://u:p@${here}`)).toBe('offered')
  expect(of('smtp://relay.example:25?tls=require')).toBe('require')
})

test('credentials, name and checks are read as written', () => {
  expect(parseSmtpUrl('smtp://us%3Aer:p%40ss@relay.example:2525?verify=off&name=mail.example')).toMatchObject({
    port: 2525,
    verify: false,
    credentials: { user: 'us:er', password: 'p@ss' },
    name: 'mail.example',
  })
})

test.each([
  'relay.example',
  'smtp://',
  'smtp://relay.example/path',
  'smtp://relay.example?tls=maybe',
  'smtp://relay.example?tsl=require',
  'smtp://relay.example?tls=off&tls=require',
  'smtp://%ff@relay.example',
  'smtps://relay.example?tls=off',
  'smtp://relay.example?name=a%0d%0ab',
  'smtp://relay.example?verify=',
])('%j cannot be read', (text) => {
  expect(parseSmtpUrl(text)).toBeUndefined()
})
