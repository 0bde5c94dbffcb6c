import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cleanSheets, cleanStyle } from '../../web/src/mail/clean-css.ts'
import { cleanMail } from '../../web/src/mail/clean-mail.ts'
import { wantedPictures } from '../../web/src/mail/photographs.ts'

const clean = (html: string, remote = false) => cleanMail({ html, remote, ownHost: 'mail.acme.test' })
const photo = 'data:image/png;base64,iVBORw0KGgo='

test('A mail keeps its text, its formatting and its styles', () => {
  const html = `<!doctype html><html><head><title>News</title><style>h1{color:red}</style></head>
    <body bgcolor="#eee" style="margin:0"><!-- hidden --><h1 class="big">Caf&eacute; &lt;1&gt;</h1><p>One<p>Two<br>
    <a href="https://shop.test/a?b=1&amp;c=2" target="_blank">Shop</a></body></html>`
  const mail = clean(html)
  expect(mail.steps.filter((step) => typeof step !== 'string' || step.trim() !== '')).toEqual([
    ['h1', { class: 'big' }],
    'Café <1>',
    0,
    ['p', {}],
    'One',
    0,
    ['p', {}],
    'Two',
    ['br', {}],
    0,
    ['a', { title: 'https://shop.test/a?b=1&c=2' }],
    'Shop',
    0,
    0,
  ])
  expect(mail).toMatchObject({
    css: 'h1{color:red}\n',
    body: { bgcolor: '#eee', style: 'margin:0' },
    blocked: 0,
    cut: false,
  })
})

test.each([
  ['<img src="https://other.test/a.png">', 1, undefined, 'https://other.test/a.png'],
  ['<img src="//other.test/a.png" width=40>', 1, undefined, 'https://other.test/a.png'],
  ['<img src="http://other.test/pixel" width=1 height=1>', 0, undefined, 'http://other.test/pixel'],
  [`<img src="${photo}">`, 0, photo, photo],
  ['<img src="cid:logo">', 0, undefined, undefined],
  ['<img src="https://mail.acme.test/api/internal/org/export">', 0, undefined, undefined],
  ['<img src="http://mail.acme.test:8080/x">', 0, undefined, undefined],
  ['<img src="/api/internal/org/export">', 0, undefined, undefined],
  ['<img src="https://ada:secret@other.test/">', 0, undefined, undefined],
  ['<img src="data:image/svg+xml;base64,PHN2Zz4=">', 0, undefined, undefined],
  ['<img src="javascript:alert(1)">', 0, undefined, undefined],
  ['<img src="blob:https://mail.acme.test/1">', 0, undefined, undefined],
  ['<img srcset="https://other.test/a.png">', 0, undefined, undefined],
])('The picture %s', (html, blocked, before, after) => {
  const srcOf = ([step]: unknown[]) => (step as [string, Record<string, string>])[1].src
  expect(clean(html).blocked).toBe(blocked)
  expect([srcOf(clean(html).steps), srcOf(clean(html, true).steps)]).toEqual([before, after])
})

describe('a picture that is an attachment of the mail', () => {
  const cleanWith = (html: string, pictures: Record<string, string>) =>
    cleanMail({ html, remote: false, ownHost: 'mail.acme.test', pictures: new Map(Object.entries(pictures)) })
  const sourcesOf = ({ steps }: ReturnType<typeof cleanMail>) =>
    steps.flatMap((step) => (Array.isArray(step) ? [step[1].src] : []))

  test('is shown where the mail refers to it, in the encoding of an address too', () => {
    const html = ['logo@acme', 'logo%40acme', ' CID:logo@acme ', 'LOGO@acme', 'logo%zz', 'other', 'constructor', '']
      .map((id) => `<img src="${/cid/i.test(id) ? id : `cid:${id}`}">`)
      .join('')
    const mail = cleanWith(html, { 'logo@acme': photo })
    expect(sourcesOf(mail)).toEqual([photo, photo, photo, ...Array(5).fill(undefined)])
    expect(mail.wanted).toEqual(['logo@acme', 'LOGO@acme', 'logo%zz', 'other', 'constructor'])
    expect(mail.blocked).toBe(0)
  })

  test('is shown in styles and as a background', () => {
    const html = `<style>p{background:url(cid:a)}</style><p style="background:url('cid:a')"><td background="cid:b">`
    const mail = cleanWith(html, { a: photo })
    expect([mail.css, mail.steps[0], mail.steps[1]]).toEqual([
      `p{background:url("${photo}")}\n`,
      ['p', { style: `background:url("${photo}")` }],
      ['td', {}],
    ])
    expect(mail.wanted).toEqual(['a', 'b'])
  })

  test('is checked like a picture in the mail itself', () => {
    const html = '<img src="cid:a"><img src="cid:b"><img src="cid:c">'
    const given = {
      a: 'data:image/svg+xml;base64,PHN2Zz4=',
      b: 'https://other.test/a.png',
      c: `${photo}");background:url("/x`,
    }
    expect(sourcesOf(cleanWith(html, given))).toEqual([undefined, undefined, undefined])
  })

  test('counts each time, together with the others', () => {
    const large = `data:image/png;base64,${'A'.repeat(3_000_000)}`
    const sources = sourcesOf(cleanWith('<img src="cid:a">'.repeat(5), { a: large }))
    expect(sources.map((src) => src !== undefined)).toEqual([true, true, false, false, false])
  })

  test('is wanted up to a number and a length', () => {
    const html = Array.from({ length: 300 }, (_, n) => `<img src="cid:${n}">`).join('')
    expect(clean(html).wanted).toHaveLength(100)
    expect(clean(`<img src="cid:${'x'.repeat(4_000)}">`).wanted).toEqual([])
  })
})

describe('the attachments that are loaded', () => {
  const file = { content_type: 'image/png', size: 10, url: '/0' as string | null, content_id: 'a' as string | null }

  test('are photographs that the mail refers to', () => {
    const files = [
      { ...file, content_id: null },
      { ...file, content_id: 'not wanted' },
      { ...file, content_type: 'image/svg+xml' },
      { ...file, content_type: 'text/html' },
      { ...file, content_type: 'image/png+xml' },
      { ...file, url: null },
      { ...file, content_type: 'IMAGE/JPEG' },
      { ...file, content_type: 'image/gif' },
      { ...file, content_id: 'b', content_type: 'image/webp' },
    ]
    expect(wantedPictures(files, ['b', 'a', 'c'])).toEqual([
      { id: 'a', position: 6, type: 'image/jpeg' },
      { id: 'b', position: 8, type: 'image/webp' },
    ])
  })

  test('are at most twenty, and 5 MB together', () => {
    const many = Array.from({ length: 30 }, (_, n) => ({ ...file, content_id: `${n}` }))
    const ids = many.map(({ content_id }) => content_id)
    expect(wantedPictures(many, ids).map(({ position }) => position)).toEqual([...Array(20).keys()])
    const sized = [3_000_000, 3_000_000, 2_000_000, 1].map((size, n) => ({ ...file, size, content_id: `${n}` }))
    expect(wantedPictures(sized, ids).map(({ position }) => position)).toEqual([0, 2])
  })
})

test.each([
  ['color:red; FONT-SIZE : 12px !important', 'color:red;font-size:12px !important'],
  [`background:#fff url("${photo}") no-repeat`, `background:#fff url("${photo}") no-repeat`],
  ['background:#fff url( https://other.test/a.png )', 'background:#fff none'],
  ['background:u\\rl(/x)', ''],
  ['background:image-set("/x" 1x)', ''],
  ['background:url(', ''],
  ['width:calc(100% - (2 * 4px));height:expression(alert(1))', 'width:calc(100% - (2 * 4px))'],
  ['position:fixed;behavior:url(x);--a:1;animation:a 1s', ''],
  ['font-family:"A; color:blue", serif', 'font-family:"A; color:blue", serif'],
  ['/* color:red; */color:blue/*', 'color:blue'],
  ['color:red}</style><script>', ''],
])('The style %j becomes %j', (css, kept) => {
  expect(cleanStyle(css, (url) => (url.startsWith('data:') ? url : undefined))).toBe(kept)
})

test.each([
  ['p,h1>a.b{color:red}', 'p,h1>a.b{color:red}\n'],
  ['@media screen and (max-width:600px){.a{width:100%}}', '@media screen and (max-width:600px){.a{width:100%}\n}\n'],
  ['@import "x";@font-face{src:url(x)}p{color:red}', 'p{color:red}\n'],
  ['p:has(a),p:nth-last-child(2),p ~ p,[style*=a],a:hover{color:red}', 'a:hover{color:red}\n'],
  ['p{color:red;&:hover{color:blue}}b{color:red}', 'p{color:red}\nb{color:red}\n'],
  ['<!-- p{color:red} -->', 'p{color:red}\n'],
  ['p{color:red', 'p{color:red}\n'],
  ['}}p{color:red}', 'p{color:red}\n'],
])('The style sheet %j becomes %j', (css, kept) => {
  expect(cleanSheets([css], () => undefined)).toBe(kept)
})

const repeat = (text: string, length: number): string => text.repeat(Math.ceil(length / text.length))

test('What is shown of a mail has a limit, and the mail says that something is missing', () => {
  const size = 2_000_000
  for (const piece of ['<p>', '<b><p>', '<svg>', '<td colspan=900>', 'w', '&amp;']) {
    const { steps, cut } = clean(repeat(piece, size))
    expect([steps.length < 20_000, JSON.stringify(steps).length < 1_000_000, cut], piece).toEqual([true, true, true])
  }
  const styled = clean(`<p style="${repeat('color:red;', size)}">`)
  expect(JSON.stringify(styled.steps).length).toBeLessThan(2_000)
  for (const rule of ['p{color:red}', `${repeat('p,', 5_000)}p{color:red}`, `p{${repeat('color:red;', 5_000)}}`]) {
    expect(clean(`<style>${repeat(rule, size)}</style>`).css.length, rule.slice(0, 20)).toBeLessThan(60_000)
  }
})

const names = ['img', 'svg', 'image', 'style', 'p', 'math', 'a', 'table', 'script', 'noscript', 'title', 'form', 'body']
const values = ['/x', `"'>`, 'javascript:alert(1)', 'url(/x)', '<img src=/x>', '&quot;', '']
const given = ['src', 'style', 'onload', 'href', 'xlink:href', 'srcset', 'background', 'action', 'class']
const attribute = fc
  .tuple(fc.constantFrom(...given), fc.constantFrom(...values))
  .map(([name, value]) => ` ${name}="${value}"`)
const piece = fc.oneof(
  fc
    .tuple(fc.constantFrom(...names), fc.array(attribute, { maxLength: 3 }))
    .map(([name, of]) => `<${name}${of.join('')}>`),
  fc.constantFrom(...names).map((name) => `</${name}>`),
  fc.constantFrom('<!--', '-->', '<![CDATA[', ']]>', '<', '"', '/>', 'text', '&lt;'),
)

test('No mail gets an element or an attribute through that is not listed', () => {
  const allowed = /^(?:img|p|a|table|body)$/
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const { steps, body } = clean(pieces.join(''))
      const elements = [...steps.filter((step) => Array.isArray(step)), ['body', body] as const]
      for (const [name, attributes] of elements) {
        expect(name).toMatch(allowed)
        for (const one of Object.keys(attributes)) expect(['style', 'class', 'title']).toContain(one)
        expect(attributes.style ?? '').not.toContain('url')
      }
    }),
    { numRuns: 500 },
  )
})

test('Mail is shown by one component, and nothing else writes HTML into a page', () => {
  const root = join(import.meta.dirname, '..', '..', 'web', 'src')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const found = files.filter((file) =>
    /<iframe|srcDoc|dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write|parseFromString/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  )
  expect(found).toEqual(['mail/mail-frame.tsx'])
})
