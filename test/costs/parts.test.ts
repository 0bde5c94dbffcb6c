import { expect, test } from 'vitest'
import { bytesByPart, timeByFunction, timeByPart } from './parts.ts'

const frame = (url: string, functionName = 'work') => ({ url, functionName, lineNumber: 7 })
const root = 'file:///somewhere'

test('time counts for the part of the program that ran, and that of a built-in function for its caller', () => {
  const frames: [number, ReturnType<typeof frame>, number[]?][] = [
    [1, frame('', '(root)'), [2, 3, 4, 5, 10, 11]],
    [2, frame('', '(idle)')],
    [3, frame('', '(garbage collector)')],
    [4, frame('', '(program)')],
    [5, frame(`${root}/src/sending/messages/send.ts`), [6, 7, 8, 9]],
    [6, frame('', 'stringify')],
    [7, frame(`${root}/src/sending/messages/email/draft-emails.ts`)],
    [8, frame(`${root}/node_modules/pg-protocol/dist/parser.js`)],
    [9, frame(`${root}/node_modules/a/node_modules/@fastify/b/index.js`)],
    [10, frame('node:_http_server')],
    [11, frame('node:internal/crypto/hash')],
  ]
  const nodes = frames.map(([id, callFrame, children = []]) => ({ id, callFrame, children }))
  const samples = nodes.map(({ id }) => id).slice(1)
  expect(timeByPart({ nodes, samples, timeDeltas: samples.map((id) => id * 10) })).toEqual({
    'garbage collector': 30,
    'native code': 40,
    messages: 50 + 60,
    'messages/email': 70,
    'pg client': 80,
    Fastify: 90,
    'Node: http, net, streams': 100,
    crypto: 110,
  })
})

test('memory counts for the part that allocated it', () => {
  const leaf = (url: string, selfSize: number) => ({ callFrame: frame(url), selfSize, children: [] })
  const head = {
    callFrame: frame('', '(root)'),
    selfSize: 1,
    children: [
      { ...leaf(`${root}/src/customers/usage/lines.ts`, 10), children: [leaf('', 5)] },
      leaf(`${root}/node_modules/zod/v4/core.js`, 7),
    ],
  }
  expect(bytesByPart(head)).toEqual({ other: 1, usage: 15, zod: 7 })
})

test('the time of a function is its own, under its name and place', () => {
  const nodes = [
    { id: 1, callFrame: frame('', '(root)'), children: [2, 3, 4] },
    { id: 2, callFrame: frame('', '(idle)') },
    { id: 3, callFrame: frame(`${root}/src/customers/usage/lines.ts`, 'linesOf') },
    { id: 4, callFrame: frame(`${root}/node_modules/zod/v4/core.js`, ''), children: [5] },
    { id: 5, callFrame: frame('', 'stringify') },
  ]
  expect(timeByFunction({ nodes, samples: [2, 3, 3, 4, 5], timeDeltas: [1, 2, 3, 4, 5] })).toEqual({
    'linesOf customers/usage/lines.ts:8': 5,
    '(anonymous) zod/v4/core.js:8': 4,
    stringify: 5,
  })
})
