import smpp, { type Pdu } from 'smpp'
import { describe, expect, test } from 'vitest'
import { endOfNumber, isReceipt, plainId, readInbound, readReceipt } from './deliver-sm.ts'

const gsm = smpp.encodings.ASCII

/** The text as the package decodes it: ASCII bytes that are read as GSM-7. */
const received = (text: string, more: Partial<Pdu> = {}): Pdu =>
  ({
    esm_class: 4,
    data_coding: 0,
    source_addr: '12025550123',
    short_message: { message: gsm.decode(Buffer.from(text, 'latin1')) },
    ...more,
  }) as Pdu

const receipt = (text: string, more: Partial<Pdu> = {}) => readReceipt(received(text, more), gsm)

describe('a receipt', () => {
  test.each([
    ['DELIVRD', 'DELIVERED'],
    ['EXPIRED', 'EXPIRED'],
    ['DELETED', 'FAILURE'],
    ['UNDELIV', 'FAILURE'],
    ['REJECTD', 'FAILURE'],
    ['ACCEPTD', 'PENDING'],
    ['ENROUTE', 'PENDING'],
    ['UNKNOWN', 'UNKNOWN'],
    ['BANANA', 'UNKNOWN'],
  ])('S-246 S-249 S-252 S-253 with the text stat:%s means %s', (stat, token) => {
    expect(receipt(`id:abc-1 sub:001 dlvrd:001 stat:${stat} err:000 text:x`)).toEqual({
      ids: ['abc-1'],
      state: stat,
      token,
      error: null,
      recipientEnd: '0123',
    })
  })

  test.each([
    [2, 'DELIVERED', 'DELIVERED'],
    [3, 'EXPIRED', 'EXPIRED'],
    [5, 'UNDELIVERABLE', 'FAILURE'],
    [8, 'REJECTED', 'FAILURE'],
    [1, 'ENROUTE', 'PENDING'],
    [7, 'UNKNOWN', 'UNKNOWN'],
    [200, 'DELIVRD', 'DELIVERED'],
  ])('with the fields of SMPP 3.4 and message_state %s means %s', (message_state, state, token) => {
    const read = receipt('id:other stat:DELIVRD', { receipted_message_id: 'tlv-1', message_state })
    expect([read?.ids, read?.state, read?.token]).toEqual([['tlv-1'], state, token])
  })

  test('has an error code only if there was an error', () => {
    expect(receipt('id:1x stat:UNDELIV err:0E1')?.error).toBe('0E1')
    expect(receipt('id:1x stat:DELIVRD err:000')?.error).toBeNull()
  })

  test('reads the letters of an id that GSM-7 has in another place', () => {
    expect(receipt('id:a_b@c[1] stat:DELIVRD')?.ids).toEqual(['a_b@c[1]'])
  })

  test('reads an id that is not terminated, and the text of a payload', () => {
    expect(receipt('', { receipted_message_id: "77ab\u0004'", message_state: 2 })?.ids[0]).toBe('77ab')
    const payload = received('', { short_message: { message: '' } })
    payload.message_payload = { message: 'ID:zz-9 STAT:delivrd' }
    expect(readReceipt(payload, gsm)).toMatchObject({ ids: ['zz-9'], token: 'DELIVERED' })
  })

  test('has its id in hexadecimal and decimal form', () => {
    expect(receipt('id:0000001A stat:DELIVRD')?.ids).toEqual(['1a', '26'])
    expect(receipt('id:26 stat:DELIVRD')?.ids).toEqual(['26', '1a', '38'])
    expect(receipt('id:12345678901234567890 stat:DELIVRD')?.ids[1]).toBe('ab54a98ceb1f0ad2')
  })

  test.each(['', 'stat:DELIVRD', 'id:', 'hello there', 'x'.repeat(5_000)])(
    'without an id is not read: %.20s',
    (text) => {
      expect(receipt(text)).toBeUndefined()
    },
  )
})

test('A message is a receipt by its class', () => {
  const classes = [0x00, 0x04, 0x20, 0x44, 0x40, 0x08, 0x01]
  expect(classes.map((esm_class) => isReceipt({ esm_class } as Pdu))).toEqual([
    false,
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})

test('Ids are compared without case and zeros only if they are hexadecimal', () => {
  expect(['00AB', '0', '000', 'Zz0A', ' 12 ', 'a-B'].map(plainId)).toEqual(['ab', '0', '0', 'Zz0A', '12', 'a-B'])
  expect(['+12025550123', '020 2555 0123', 'x', ''].map(endOfNumber)).toEqual(['0123', '0123', '', ''])
})

test('An inbound message has international numbers in E.164 form', () => {
  const at = new Date()
  const pdu = {
    source_addr: '12025550123',
    source_addr_ton: 1,
    destination_addr: '12345',
    dest_addr_ton: 3,
    short_message: { message: 'STOP' },
  } as Pdu
  const numbers = { from: '+12025550123', to: '12345' }
  expect(readInbound(pdu, at)).toEqual({
    provider: 'smpp',
    id: null,
    ...numbers,
    body: 'STOP',
    mediaUrl: [],
    isContinuation: false,
    at,
  })
  expect(readInbound({ ...pdu, receipted_message_id: 'mo-1' } as Pdu, at).id).toBe('mo-1')
  expect(readInbound({ ...pdu, source_addr: '+1202' } as Pdu, at).from).toBe('+1202')
})

const part9 = (part: number, parts = 2) => ({ reference: 'udh-9', parts, part })

test.each([
  ['no header', {}, false, undefined],
  ['the first part', { udh: [Buffer.from([0, 3, 9, 2, 1])] }, false, part9(1)],
  ['the second part', { udh: [Buffer.from([0, 3, 9, 2, 2])] }, true, part9(2)],
  ['another element first', { udh: [Buffer.from([5, 1, 7]), Buffer.from([0, 3, 9, 2, 2])] }, true, part9(2)],
  ['a long reference', { udh: [Buffer.from([8, 4, 1, 9, 2, 2])] }, true, { reference: 'udh-265', parts: 2, part: 2 }],
  ['a header that is cut off', { udh: [Buffer.from([0, 3, 9])] }, false, undefined],
  ['one part', { udh: [Buffer.from([0, 3, 9, 1, 1])] }, false, undefined],
  ['no part at that place', { udh: [Buffer.from([0, 3, 9, 2, 3])] }, true, undefined],
  ['the part 0', { udh: [Buffer.from([0, 3, 9, 2, 0])] }, false, undefined],
  ['the most parts', { udh: [Buffer.from([0, 3, 9, 255, 255])] }, true, part9(255, 255)],
  ['a text that no part has', { message: 'x'.repeat(1_001), udh: [Buffer.from([0, 3, 9, 2, 2])] }, true, undefined],
])('An inbound message with %s shows its place in a long message', (_, header, isContinuation, part) => {
  const pdu = { short_message: { message: 'stop', ...header } } as Pdu
  const read = readInbound(pdu, new Date())
  expect([read.isContinuation, read.part]).toEqual([isContinuation, part])
})

test('The fields of SMPP 3.4 show the place in a long message too', () => {
  const sar = { sar_msg_ref_num: 700, sar_total_segments: 3, sar_segment_seqnum: 2 }
  const pdu = { short_message: { message: 'stop' }, ...sar } as unknown as Pdu
  expect(readInbound(pdu, new Date())).toMatchObject({
    isContinuation: true,
    part: { reference: 'sar-700', parts: 3, part: 2 },
  })
})
