import { expect, test } from 'vitest'
import { parseSmppUrl } from './smpp-url.ts'

const plain = {
  host: 'smsc.test',
  port: 2775,
  tls: false,
  verify: true,
  systemId: 'acme',
  password: '',
  systemType: '',
}

test.each([
  ['smpp://acme@smsc.test', {}],
  ['smpp://acme:p%40ss@smsc.test:9000/', { password: 'p@ss', port: 9000 }],
  ['ssmpp://acme:x@smsc.test', { tls: true, port: 3550, password: 'x' }],
  [
    'ssmpp://acme@[::1]?verify=off&system_type=WWW',
    {
      tls: true,
      port: 3550,
      host: '::1',
      verify: false,
      systemType: 'WWW',
    },
  ],
])('%s is a message centre', (url, changes) => {
  expect(parseSmppUrl(url)).toEqual({ ...plain, ...changes })
})

test.each([
  'smpp://smsc.test',
  'smpp://:x@smsc.test',
  'smpp://acme@smsc.test/path',
  'smpp://acme@smsc.test?verify=maybe',
  'smpp://acme@smsc.test?verify=on&verify=off',
  'smpp://acme@smsc.test?other=1',
  'smpp://acme@smsc.test?system_type=aVeryLongSystemType',
  'smpp://ac%00me@smsc.test',
  'smpp://%zz@smsc.test',
  `smpp://${'a'.repeat(65)}@smsc.test`,
  'not a URL',
])('%s is rejected', (url) => {
  expect(parseSmppUrl(url)).toBeUndefined()
})
