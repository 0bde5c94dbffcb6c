import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import { findLinks, type Href } from './find-links.ts'
import { maxTrackedLinks, readPage, writePage } from './rewrite.ts'
import { isWebUrl, trackableUrl } from './web-url.ts'

type Preparation = { openUrl: string | null; wrap: ((url: string) => string) | null; keep: string[] }
const unsubscribe = { unsubscribeTag: null, unsubscribeFolder: 'https://own.example/u/' }
const prepareHtml = async (html: string, { openUrl, wrap, keep }: Preparation): Promise<string> => {
  const page = await readPage(html, { opens: openUrl !== null, clicks: wrap !== null, keep, ...unsubscribe })
  return writePage(page, { openUrl, wrap: wrap ?? ((url) => url), unsubscribeUrl: null })
}

const wrap = (url: string) => `https://t.example/c?u=${Buffer.from(url).toString('base64url')}&x=1`
const wrapAll = async (html: string, keep: string[] = []): Promise<[out: string, urls: string[]]> => {
  const urls: string[] = []
  const out = await prepareHtml(html, {
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
const wrappedIn = (out: string): number => out.split(W).length - 1

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
  ])('SD-111 are wrapped in place: %s', async ([, html, out]) => {
    expect(await prepareHtml(html as string, { openUrl: null, wrap: () => W, keep: [] })).toBe(out)
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
  ])('SD-111 that are not absolute web URLs are not wrapped: %j', async (href) => {
    const html = `<a href="${href}">x</a><a href='${href}'>x</a>`
    expect(await wrapAll(html)).toEqual([html, []])
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
  ])('SD-111 that cannot be followed are not wrapped: %s', async ([, html]) => {
    expect(await wrapAll(html as string)).toEqual([html, []])
  })

  test('SD-111 are read like a browser reads them and escaped for their quotes', async () => {
    expect((await wrapAll('<a href="https://a.example/?a=1&amp;b=2&copy=3&#x26;c&eacute;">'))[1]).toEqual([
      'https://a.example/?a=1&b=2&copy=3&cé',
    ])
    expect((await wrapAll('<a href=&#104;ttps://a.example/&quot;>'))[1]).toEqual(['https://a.example/"'])
    expect((await wrapAll('<a href="ht\n\ttps://a.example/">'))[1]).toEqual(['https://a.example/'])
    expect((await wrapAll('<a href="\u00a0https://a.example/">'))[1]).toEqual([])
    expect((await wrapAll('<a href="https://a.example/\n  x">'))[1]).toEqual(['https://a.example/  x'])
    const special = `https://t.example/?a=1&b="2"'3'<4> 5`
    const write = (html: string) => prepareHtml(html, { openUrl: null, wrap: () => special, keep: [] })
    for (const html of ['<a href="http://a">', "<a href='http://a'>", '<a href=http://a>']) {
      const hrefs: (string | undefined)[] = []
      new Parser({ onopentag: (_name, { href }) => hrefs.push(href) }).end(await write(html))
      expect(hrefs).toEqual([special])
    }
    expect(await write('<a href="http://a">')).toContain('a=1&amp;b=&#34;2&#34;')
  })

  test('that wrap returns unchanged keep every byte', async () => {
    const html = '<a href=" https://a.example/?a&b ">'
    expect(await prepareHtml(html, { openUrl: null, wrap: (url) => url, keep: [] })).toBe(html)
  })

  test('S-421 to unsubscribe are never wrapped, neither the exact link nor any URL under a kept folder', async () => {
    const keep = ['https://own.example/u/', 'https://other.example/leave?id=1&x=2']
    const html = [
      '<a href="https://own.example/u/abc">',
      "<a href='HTTPS://OWN.example:443/u/abc?x#y'>",
      '<a href=" https://own.example/u/">',
      '<a href="https://other.example/leave?id=1&amp;x=2">',
      '<a href=https://own.example/u/a/b/../c>',
    ].join('')
    expect(await wrapAll(html, keep)).toEqual([html, []])
    const others = ['https://own.example/us', 'https://own.example/u/../x', 'https://other.example/leave?id=1&x=23']
    expect((await wrapAll(others.map((url) => `<a href="${url}">`).join(''), keep))[1]).toEqual(others)
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
  ])('SD-111 is added before the last </body> or at the end: %s', async ([html, out]) => {
    expect(await place(html as string)).toBe(out)
  })

  test('S-422 is independent of link wrapping', async () => {
    const html = '<body><a href="http://a.example">x</a></body><a href="http://b.example">y</a>'
    const pixelOnly = html.replace('</body>', `${img}</body>`)
    const wrapped = (text: string) => text.replaceAll(/http:\/\/[ab]\.example/g, W)
    expect(await prepareHtml(html, { openUrl: null, wrap: null, keep: [] })).toBe(html)
    expect(await prepareHtml(html, { openUrl, wrap: null, keep: [] })).toBe(pixelOnly)
    expect(await prepareHtml(html, { openUrl: null, wrap: () => W, keep: [] })).toBe(wrapped(html))
    expect(await prepareHtml(html, { openUrl, wrap: () => W, keep: [] })).toBe(wrapped(pixelOnly))
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

const hrefsIn = (html: string): string[] => {
  const hrefs: string[] = []
  new Parser({
    onopentag: (name, { href }) => {
      if (href !== undefined && ['a', 'area'].includes(name)) hrefs.push(href)
    },
  }).end(html)
  return hrefs
}

test('SD-111 in any HTML only the links change, and each keeps its target', async () => {
  await fc.assert(
    fc.asyncProperty(randomHtml, async (html) => {
      const wrapped = new Set<string>()
      const out = await prepareHtml(html, {
        openUrl: null,
        keep: [],
        wrap: (url) => {
          wrapped.add(wrap(url))
          return wrap(url)
        },
      })
      expect(parserEvents(out)).toEqual(parserEvents(html))
      const targets = hrefsIn(out).filter((href) => href.startsWith('https://t.example/'))
      expect(new Set(targets)).toEqual(wrapped)
      // The parser of this test reads some elements inside of svg as links, unlike browsers.
      const urls = hrefsIn(html)
        .map((href) => trackableUrl(href) ?? '')
        .filter(isWebUrl)
      if (!html.includes('<svg>')) expect(targets).toEqual(urls.map(wrap))
      // Every byte between the links is unchanged.
      const between = (await wrapAll(html))[0].split(W)
      expect(between).toHaveLength(targets.length + 1)
      expect([html.startsWith(between[0] as string), html.endsWith(between.at(-1) as string)]).toEqual([true, true])
      if (wrapped.size === 0) expect(out).toBe(html)
    }),
    { numRuns: 3_000 },
  )
})

test('a text that is parsed in chunks of any size has the same links as in one chunk', async () => {
  const found = async (html: string, chunk: number) => {
    const hrefs: Href[] = []
    const bodyEnds: number[] = []
    const seen = { onHref: (href: Href) => hrefs.push(href), onBodyEnd: (start: number) => bodyEnds.push(start) }
    await findLinks(html, seen, startSlices(), chunk)
    return [hrefs, bodyEnds]
  }
  await fc.assert(
    fc.asyncProperty(randomHtml, fc.integer({ min: 1, max: 9 }), async (html, chunk) => {
      expect(await found(html, chunk)).toEqual(await found(html, Math.max(1, html.length)))
    }),
    { numRuns: 3_000 },
  )
})

test('the unsubscribe link is filled in for each recipient of a text that is read once', async () => {
  const tag = /\{\{\s*unsubscribe_url\s*\}\}/g
  const text = fc
    .array(fc.oneof(piece, fc.constantFrom('{{unsubscribe_url}}', '{{ unsubscribe_url\n}}', '{{')), { maxLength: 40 })
    .map((pieces) => pieces.join(''))
  const { unsubscribeFolder } = unsubscribe
  const keep = [unsubscribeFolder]
  await fc.assert(
    fc.asyncProperty(text, fc.boolean(), fc.boolean(), async (html, opens, clicks) => {
      const page = await readPage(html, { opens, clicks, keep, unsubscribeTag: tag, unsubscribeFolder })
      for (const token of ['x'.repeat(70), 'Y-_0'.repeat(40)]) {
        const unsubscribeUrl = unsubscribeFolder + token
        const openUrl = opens ? W : null
        const filled = html.replace(tag, unsubscribeUrl)
        expect(await writePage(page, { openUrl: W, wrap, unsubscribeUrl })).toBe(
          await prepareHtml(filled, { openUrl, wrap: clicks ? wrap : null, keep }),
        )
      }
    }),
    { numRuns: 2_000 },
  )
})

describe('the limits of a text', () => {
  const options = { opens: false, clicks: true, keep: ['https://own.example/u/'], ...unsubscribe }
  const links = (count: number) => '<a href=http://a>'.repeat(count)
  const tooManyLinks = 'The html has more than 100,000 links to track. Send fewer links, or turn off track_clicks.'
  const tooLong = 'With its links filled in, html or text has more than 20,000,000 characters.'

  test('at most 100,000 links are tracked, and links that are not tracked do not count', async () => {
    expect(maxTrackedLinks).toBe(100_000)
    const untracked = '<a href="mailto:ann@example.com"><a href="https://own.example/u/x">'
    const page = await readPage(links(100_000) + untracked, options)
    expect(wrappedIn(await writePage(page, { openUrl: null, wrap: () => W, unsubscribeUrl: null }))).toBe(100_000)
    const refusal = { code: 'PAYLOAD_TOO_LARGE', message: tooManyLinks }
    await expect(readPage(links(100_001), options)).rejects.toMatchObject(refusal)
    // Without click tracking there is nothing to sign.
    expect((await readPage(links(100_001), { ...options, opens: true, clicks: false })).pieces).toHaveLength(2)
  })

  test('a text has at most as many characters as allowed, and writing stops at the first one above', async () => {
    const html = Array.from({ length: 1_000 }, (_, i) => `<a href="http://a/${i}">`).join('')
    const page = await readPage(html, options)
    let signed = 0
    const write = (limit: number) => {
      signed = 0
      const count = () => {
        signed++
        return W
      }
      return writePage(page, { openUrl: null, wrap: count, unsubscribeUrl: null }, limit)
    }
    const whole = 1_000 * `<a href="${W}">`.length
    expect([(await write(whole)).length, signed]).toEqual([whole, 1_000])
    await expect(write(whole - 1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message: tooLong })
    await expect(write(300)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message: tooLong })
    expect(signed).toBe(10)
  })

  test('other work of the process runs while a large text is read and written', async () => {
    const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
      let turns = 0
      let running = true
      const turn = (): void => {
        turns++
        if (running) setImmediate(turn)
      }
      setImmediate(turn)
      await work()
      running = false
      return turns
    }
    // A slice must not be longer than some chunks of the text or some hundred links, whatever the speed of the machine.
    const html = Array.from({ length: 90_000 }, (_, i) => `<a href="http://a/${i}">${'x'.repeat(40)}`).join('')
    const page = await readPage(html, options)
    expect(await turnsDuring(() => readPage(html, options))).toBeGreaterThan(5)
    const signing = { openUrl: null, wrap: (url: string) => wrap(url).repeat(2), unsubscribeUrl: null }
    expect(await turnsDuring(() => writePage(page, signing))).toBeGreaterThan(2)
  })
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
  ])('is processed: %j', async (text) => {
    const html = fill(text)
    const [out] = await wrapAll(html)
    const wrapped = wrappedIn(out)
    expect(out.length - html.length).toBeLessThanOrEqual(wrapped * W.length)
    const tag = `<a href="${html}">`
    expect((await wrapAll(tag))[0].length).toBeLessThanOrEqual(tag.length + (1 + wrapped) * W.length)
    expect((await prepareHtml(`<!-- ${html}`, { openUrl: W, wrap: null, keep: [] })).length).toBeGreaterThan(size)
  })

  test('is processed in linear work: twice the text wraps twice the links and adds twice the characters', async () => {
    const measure = async (length: number) => {
      const html = fill('<p><a href="https://a.example/">x</a> ', length * 38)
      const [out] = await wrapAll(html)
      return [wrappedIn(out), out.length - html.length]
    }
    expect(await measure(20_000)).toEqual((await measure(10_000)).map((figure) => figure * 2))
  })
})
