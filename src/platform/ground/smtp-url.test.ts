import { expect, test } from 'vitest'
import { parseSmtpUrl } from './smtp-url.ts'

test('the defaults are STARTTLS when offered, the submission port and a valid certificate', () => {
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

test('credentials require TLS unless the relay is on this machine or the URL turns TLS off', () => {
  const startTlsOf = (text: string) => parseSmtpUrl(text)?.startTls
  expect(startTlsOf('smtp://u:p@relay.example')).toBe('require')
  expect(startTlsOf('smtp://u:p@relay.example?tls=off')).toBe('off')
  for (const host of ['localhost', '127.0.0.1', '[::1]']) expect(startTlsOf(`smtp://u:p@${host}`)).toBe('offered')
  expect(startTlsOf('smtp://relay.example:25?tls=require')).toBe('require')
})

test('credentials, port, name and verification are read from the URL', () => {
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
  'smtp://relay.example?constructor=1',
  'smtp://relay.example?tls=off&tls=require',
  'smtp://%ff@relay.example',
  'smtps://relay.example?tls=off',
  'smtp://relay.example?name=a%0d%0ab',
  'smtp://relay.example?verify=',
])('%j is not a valid SMTP URL', (text) => {
  expect(parseSmtpUrl(text)).toBeUndefined()
})
