import { expect, test } from 'vitest'
import { accountIn } from './account.ts'

const root = 'root:x:0:0:root:/root:/bin/bash'
const nobody = 'nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin'

test('a service run by root gives PostgreSQL the account tidings if there is one, and nobody otherwise', () => {
  const own = 'tidings:x:997:996::/srv/tidings:/usr/sbin/nologin'
  expect(accountIn([root, nobody, own, ''].join('\n'))).toEqual({ uid: 997, gid: 996 })
  expect(accountIn([root, nobody].join('\n'))).toEqual({ uid: 65534, gid: 65533 })
  expect(accountIn('nobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false')).toEqual({ uid: -2, gid: -2 })
  expect(accountIn('')).toEqual({ uid: 65534, gid: 65534 })
})

test('an account tidings with the uid of root, or with a damaged line, is not used', () => {
  for (const line of ['tidings:x:0:0::/root:/bin/sh', 'tidings', 'tidings:x::996::', 'tidings-old:x:997:996::/:']) {
    expect(accountIn([line, nobody].join('\n'))).toEqual({ uid: 65534, gid: 65533 })
  }
})
