import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { prepareHtml } from './rewrite.ts'

const wrap = (url: string) => `https://t.example/c?u=${Buffer.from(url).toString('base64url')}&x=1`
const wrapAll = (html: string, keep: string[] = []): [out: string, urls: string[]] => {
  const urls: string[] = []
  const out = prepareHtml(html, {
    openUrl: null,
    keep,
    wrap: (url) => {
      urls.push(url)
      return 'https://t.example/W'
    },
  })
  return [out, urls]
}
const W = 'https://t.example/W'

describe('links', () => {
  test.for([
    ['double quotes', '<a href="https://a.example/">x</a>', `<a href="${W}">x</a>`],
    ['single quotes', "<a href='https://a.example/'>x</a>", `<a href='${W}'>x</a>`],
    ['no quotes', '<a href=https://a.example/ class=b>x</a>', `<a href=${W} class=b>x</a>`],
    ['no quotes, last in the tag', '<a href=https://a.example/>x</a>', `<a href=${W}>x</a>`],
    ['upper case', '<A CLASS="b" HREF="HTTPS://A.example/">x</A>', `<A CLASS="b" HREF="${W}">x</A>`],
    ['area of an image map', '<area shape=rect href="http://a.example">', `<area shape=rect href="${W}">`],
    ['self-closing tag', '<a href="http://a.example"/>', `<a href="${W}"/>`],
    ['spaces and line breaks around the equals sign', '<a\n\thref =\n "http://a.example" >', `<a\n\thref =\n "${W}" >`],
    ['spaces around the URL', '<a href=" http://a.example\n">', `<a href="${W}">`],
    [
      'first of several attributes',
      '<a href="http://a.example" href="http://b.example">',
      `<a href="${W}" href="http://b.example">`,
    ],
    ['unclosed element', '<p><a href="http://a.example">x<b></p>', `<p><a href="${W}">x<b></p>`],
    ['no space between attributes', '<a class="b"href="http://a.example">', `<a class="b"href="${W}">`],
    [
      'conditional comment that shows its content',
      '<!--[if !mso]><!--><a href="http://a.example">x</a><!--<![endif]-->',
      `<!--[if !mso]><!--><a href="${W}">x</a><!--<![endif]-->`,
    ],
    ['after a stray angle bracket', 'a < b <<a href="http://a.example">', `a < b <<a href="${W}">`],
  ])('SD-111 are wrapped in place: %s', ([, html, out]) => {
    expect(prepareHtml(html as string, { openUrl: null, wrap: () => W, keep: [] })).toBe(out)
  })

  test.for([
    'mailto:ann@example.com',
    'tel:+14155550100',
    '#part',
    '',
    '/path',
    'path',
    '//a.example/x',
    '?q=1',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a.example',
    'cid:1',
    'https:a.example',
    'http://',
    'https://a b.example/',
    '{{link}}',
    'x https://a.example',
    'https://a.example/\0b',
    'https://a.example/&#1;b',
  ])('SD-111 that are not absolute web URLs are not wrapped: %j', (href) => {
    const html = `<a href="${href}">x</a><a href='${href}'>x</a>`
    expect(wrapAll(html)).toEqual([html, []])
  })

  test.for([
    ['comment', '<!-- <a href="http://a.example">x</a> -->'],
    ['conditional comment', '<!--[if mso]><a href="http://a.example">x</a><![endif]-->'],
    ['unclosed comment', '<!-- <a href="http://a.example">x</a>'],
    ['script', '<script>"<a href=\\"http://a.example\\">"</script>'],
    ['style', '<style>/*<a href="http://a.example">*/</style>'],
    ['title', '<title><a href="http://a.example"></title>'],
    ['text area', '<textarea><a href="http://a.example"></textarea>'],
    ['attribute of another tag', '<img alt="<a href=\'http://a.example\'>">'],
    ['other attribute', '<a data-href="http://a.example" xhref="http://a.example">'],
    ['other tag', '<link href="http://a.example"><abbr href="http://a.example"><base href="http://a.example">'],
    ['incomplete tag', '<a href="http://a.example" '],
    ['closing tag', '</a href="http://a.example">'],
    ['attribute without a value', '<a href>http://a.example</a>'],
    ['text', '&lt;a href="http://a.example"&gt; http://a.example'],
  ])('SD-111 that cannot be followed are not wrapped: %s', ([, html]) => {
    expect(wrapAll(html as string)).toEqual([html, []])
  })

  test('SD-111 are read like a browser reads them and escaped for their quotes', () => {
    expect(wrapAll('<a href="https://a.example/?a=1&amp;b=2&copy=3&#x26;c&eacute;">')[1]).toEqual([
      'https://a.example/?a=1&b=2&copy=3&cé',
    ])
    expect(wrapAll('<a href=&#104;ttps://a.example/&quot;>')[1]).toEqual(['https://a.example/"'])
    expect(wrapAll('<a href="ht\n\ttps://a.example/">')[1]).toEqual(['https://a.example/'])
    expect(wrapAll('<a href="\u00a0https://a.example/">')[1]).toEqual([])
    expect(wrapAll('<a href="https://a.example/\n  x">')[1]).toEqual(['https://a.example/  x'])
    const special = `https://t.example/?a=1&b="2"'3'<4> 5`
    const write = (html: string) => prepareHtml(html, { openUrl: null, wrap: () => special, keep: [] })
    for (const html of ['<a href="http://a">', "<a href='http://a'>", '<a href=http://a>']) {
      const hrefs: (string | undefined)[] = []
      new Parser({ onopentag: (_name, { href }) => hrefs.push(href) }).end(write(html))
      expect(hrefs).toEqual([special])
    }
    expect(write('<a href="http://a">')).toContain('a=1&amp;b=&#34;2&#34;')
  })

  test('that wrap returns unchanged keep every byte', () => {
    const html = '<a href=" https://a.example/?a&b ">'
    expect(prepareHtml(html, { openUrl: null, wrap: (url) => url, keep: [] })).toBe(html)
  })

  test('S-421 to unsubscribe are never wrapped, neither the exact link nor any URL under a kept folder', () => {
    const keep = ['https://own.example/u/', 'https://other.example/leave?id=1&x=2']
    const html = [
      '<a href="https://own.example/u/abc">',
      "<a href='HTTPS://OWN.example:443/u/abc?x#y'>",
      '<a href=" https://own.example/u/">',
      '<a href="https://other.example/leave?id=1&amp;x=2">',
      '<a href=https://own.example/u/a/b/../c>',
    ].join('')
    expect(wrapAll(html, keep)).toEqual([html, []])
    const others = ['https://own.example/us', 'https://own.example/u/../x', 'https://other.example/leave?id=1&x=23']
    expect(wrapAll(others.map((url) => `<a href="${url}">`).join(''), keep)[1]).toEqual(others)
  })
})

describe('the pixel', () => {
  const openUrl = 'https://t.example/o?a=1&b=2'
  const img =
    '<img src="https://t.example/o?a=1&amp;b=2" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">'
  const place = (html: string) => prepareHtml(html, { openUrl, wrap: null, keep: [] })
  test.for([
    ['<html><body><p>x</p></body></html>', `<html><body><p>x</p>${img}</body></html>`],
    ['<BODY>x</BODY >\n', `<BODY>x${img}</BODY >\n`],
    ['a</body>b</body>c', `a</body>b${img}</body>c`],
    ['<body>x<!-- </body> -->', `<body>x<!-- </body> -->${img}`],
    [
      '<body>x</body><!-- </body> --><script>"</body>"</script>',
      `<body>x${img}</body><!-- </body> --><script>"</body>"</script>`,
    ],
    ['<p>x</p>', `<p>x</p>${img}`],
    ['</bodyx></ body>', `</bodyx></ body>${img}`],
    ['', img],
  ])('SD-111 is added before the last </body> or at the end: %s', ([html, out]) => {
    expect(place(html as string)).toBe(out)
  })

  test('S-422 is independent of link wrapping', () => {
    const html = '<body><a href="http://a.example">x</a></body><a href="http://b.example">y</a>'
    const pixelOnly = html.replace('</body>', `${img}</body>`)
    const wrapped = (text: string) => text.replaceAll(/http:\/\/[ab]\.example/g, W)
    expect(prepareHtml(html, { openUrl: null, wrap: null, keep: [] })).toBe(html)
    expect(prepareHtml(html, { openUrl, wrap: null, keep: [] })).toBe(pixelOnly)
    expect(prepareHtml(html, { openUrl: null, wrap: () => W, keep: [] })).toBe(wrapped(html))
    expect(prepareHtml(html, { openUrl, wrap: () => W, keep: [] })).toBe(wrapped(pixelOnly))
  })
})

/** The events of an HTML parser, without the targets of links. */
const parserEvents = (html: string): unknown[] => {
  const events: unknown[] = []
  const parser = new Parser({
    onopentag: (name, attributes) => {
      const { href, ...rest } = attributes
      events.push(['open', name, rest, ['a', 'area'].includes(name) ? href !== undefined : href])
    },
    onclosetag: (name, implied) => events.push(['close', name, implied]),
    ontext: (data) => events.push(['text', data]),
    oncomment: (data) => events.push(['comment', data]),
    onprocessinginstruction: (name, data) => events.push(['instruction', name, data]),
  })
  parser.end(html)
  return events
}

const piece = fc.constantFrom(
  '<a href="',
  '<A HREF=',
  "<area href='",
  '<a ',
  'href=',
  '"',
  "'",
  '>',
  '/>',
  '<',
  '</a>',
  '</body>',
  '<body>',
  'http://a.example/',
  'https://b.example/?a=1&amp;b=2',
  'mailto:x@y.example',
  '&',
  '&amp;',
  '&#',
  '&quot;',
  '=',
  '<!--',
  '-->',
  '<![endif]-->',
  '<!--[if mso]>',
  '<script>',
  '</script>',
  '<style>',
  '</style>',
  '<textarea>',
  ' ',
  '\n',
  '\0',
  'x',
  'é',
  '\u{1f600}',
  '<?',
  '<!',
  '<![CDATA[',
  ']]>',
  '`',
  '<svg>',
  '<plaintext>',
)
const randomHtml = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

test('SD-111 in any HTML only the links change, and each keeps its target', () => {
  fc.assert(
    fc.property(randomHtml, (html) => {
      const wrapped: string[] = []
      const out = prepareHtml(html, {
        openUrl: null,
        keep: [],
        wrap: (url) => {
          wrapped.push(url)
          return wrap(url)
        },
      })
      expect(parserEvents(out)).toEqual(parserEvents(html))
      const hrefs: string[] = []
      new Parser({
        onopentag: (_name, { href }) => {
          if (href?.startsWith('https://t.example/')) hrefs.push(href)
        },
      }).end(out)
      expect(hrefs).toEqual(wrapped.map(wrap))
      // Every byte between the links is unchanged.
      const between = wrapAll(html)[0].split(W)
      expect(between).toHaveLength(wrapped.length + 1)
      expect([html.startsWith(between[0] as string), html.endsWith(between.at(-1) as string)]).toEqual([true, true])
      if (wrapped.length === 0) expect(out).toBe(html)
    }),
    { numRuns: 3_000 },
  )
})

describe('one megabyte of hostile HTML', () => {
  const size = 1_000_000
  const fill = (text: string, length = size) => text.repeat(Math.ceil(length / text.length)).slice(0, length)
  // Quadratic work would exceed the time limit of a test.
  test.for([
    '<a href="',
    "<a href='",
    '<a href=',
    '<a ',
    '<',
    '</',
    '<!--',
    '<!',
    '&',
    '<a href="&',
    '<a href=&#',
    '&#1',
    '<a href="http://a',
    '<a href=" ',
    '<a href=\n',
    '</body',
    '</body ',
    '<script>',
    '</script',
    ']]>',
    '<![CDATA[',
    '<a href="https://a.example/">',
    '<a href=http://a>',
    '</body>',
    '--',
    '<!--->',
    'href="http://a.example" ',
    '<a href="&amp;">',
    '<a href="http://a.example/\n\t ',
    'a',
    '"',
    '=',
    "<area href='http://a'>",
    '<textarea>&lt;',
  ])('is processed: %j', (text) => {
    const html = fill(text)
    const [out, urls] = wrapAll(html)
    expect(out.length - html.length).toBeLessThanOrEqual(urls.length * W.length)
    const tag = `<a href="${html}">`
    expect(wrapAll(tag)[0].length).toBeLessThanOrEqual(tag.length + (1 + urls.length) * W.length)
    expect(prepareHtml(`<!-- ${html}`, { openUrl: W, wrap: null, keep: [] }).length).toBeGreaterThan(size)
  })

  test('is processed in linear work: twice the text wraps twice the links and adds twice the characters', () => {
    const measure = (length: number) => {
      const html = fill('<p><a href="https://a.example/">x</a> ', length * 38)
      const [out, urls] = wrapAll(html)
      return [urls.length, out.length - html.length]
    }
    expect(measure(20_000)).toEqual(measure(10_000).map((figure) => figure * 2))
  })
})
