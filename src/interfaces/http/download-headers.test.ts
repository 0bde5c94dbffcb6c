import { expect, test } from 'vitest'
import { downloadHeaders } from './download-headers.ts'

const types: [given: string, served: string][] = [
  ['image/png', 'image/png'],
  ['Text/Plain', 'text/plain'],
  ['application/vnd.ms-excel', 'application/vnd.ms-excel'],
  ...[
    'text/html',
    'TEXT/HTML',
    'application/xhtml+xml',
    'image/svg+xml',
    'application/xml',
    'text/javascript',
    'application/pdf',
    'multipart/related',
    'message/rfc822',
    'nonsense',
    'text/ht ml',
    'text/plain\r\nX-Evil: 1',
    'text/plain; charset=utf-7',
    'a/b\u00e9',
    '',
  ].map((type): [string, string] => [type, 'application/octet-stream']),
]

test.each(types)('A file of the type %j is served as %s', (type, expected) => {
  expect(downloadHeaders({ filename: null, type })['content-type']).toBe(expected)
})

test.each([
  ['report (1).txt', 'attachment; filename="report (1).txt"'],
  ['a"; filename=evil.exe', 'attachment; filename="a__ filename=evil.exe"'],
  ['../../etc/passwd', 'attachment; filename="passwd"'],
  ['C:\\folder\\x.doc', 'attachment; filename="x.doc"'],
  ['.bashrc', 'attachment; filename="bashrc"'],
  ['\u202etxt.exe\r\nX-Evil: 1', 'attachment; filename="txt.exeX-Evil_ 1"'],
  ['Gr\u00f6\u00dfe(2).txt', 'attachment; filename="Gr__e(2).txt"; filename*=UTF-8\'\'Gr%C3%B6%C3%9Fe%282%29.txt'],
  ['\ud800', 'attachment; filename="_"; filename*=UTF-8\'\'%EF%BF%BD'],
  ['..', 'attachment; filename="attachment"'],
  ['', 'attachment; filename="attachment"'],
  [null, 'attachment; filename="attachment"'],
])('A file with the name %j gets a safe one', (filename, expected) => {
  expect(downloadHeaders({ filename, type: 'text/plain' })['content-disposition']).toBe(expected)
})
