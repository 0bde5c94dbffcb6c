import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { htmlToText } from './html-to-text.ts'

describe('the text of HTML', () => {
  test.each<[what: string, html: string, text: string]>([
    ['paragraphs', '<p>One\n  two</p><p>Three</p>', 'One two\n\nThree'],
    ['lines', 'a<br>b<br/><br><br><br>c<div>d</div>e', 'a\nb\n\nc\nd\ne'],
    ['inline elements', 'a <b>bold</b>, <i>it</i>alic', 'a bold, italic'],
    ['headings', '<h1>Title</h1>Text<h2>More</h2>', 'Title\n\nText\n\nMore'],
    ['a list', '<p>Buy:</p><ul><li>milk</li><li><p>eggs</p></li><li></li></ul>now', 'Buy:\n\n- milk\n\n- eggs\n\nnow'],
    [
      'a list with numbers',
      '<ol><li>one<li>two<ul><li>inner</ul><li>three</ol>',
      '1. one\n2. two\n\n- inner\n\n3. three',
    ],
    ['a table', '<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>', 'a b\nc'],
    ['preformatted text', '<pre>a  b\n   c\n\nd</pre>e', 'a  b\n   c\n\nd\n\ne'],
    [
      'a link',
      '<a href="https://example.com/?a=1&amp;b=2">Read more</a>.',
      'Read more <https://example.com/?a=1&b=2>.',
    ],
    ['a link whose text is its target', '<a href=https://example.com>https://example.com</a>', 'https://example.com'],
    ['a link around an image', '<a href="https://example.com/"><img src=x></a>', 'https://example.com/'],
    ['the first href', '<a href="https://a.test/" href="https://b.test/">x</a>', 'x <https://a.test/>'],
    [
      'a link to an address',
      '<a href="mailto:a@b.test?subject=x">Write</a> <a href=mailto:a@b.test>a@b.test</a>',
      'Write <a@b.test> a@b.test',
    ],
    ['links without a target to show', '<a name=x>a</a> <a href="#x">b</a> <a href="javascript:x()">c</a>', 'a b c'],
    [
      'links that are not closed',
      '<a href="https://a.test/">a<a href="https://b.test/">b',
      'a <https://a.test/>b <https://b.test/>',
    ],
    ['an image', '<img alt="A &lt;cat&gt;" src=x><img src=y alt="">', 'A <cat>'],
    ['characters', '&lt;b&gt; &amp; &euro;&nbsp;5 &#128512; 😀 &unknown;', '<b> & € 5 😀 😀 &unknown;'],
    ['a filled preview line', 'Sale<div>&zwnj;&nbsp;&zwnj;&nbsp;&#847; &shy;</div>Now', 'Sale\nNow'],
    ['hidden content', '<head><title>T</title><style>p{}</style></head>a<script>"</p>"</script><!-- c -->b', 'ab'],
    ['a hidden element in another', '<template>x<style>y</style>z</template>a', 'a'],
    ['nothing', '<img src=x> \n <br>', ''],
    ['text that ends inside a tag', 'a<b class="', 'a'],
  ])('shows %s', async (_, html, text) => {
    expect(await htmlToText(html)).toBe(text)
  })

  test('does not depend on where the text is cut into chunks', async () => {
    const inner = '<p>Hello &amp; <a href="https://example.com/a">welcome 😀</a></p>'
    const shift = fc.integer({ min: 0, max: inner.length + 5 })
    await fc.assert(
      fc.asyncProperty(shift, async (before) => {
        const html = `${'x'.repeat(16_384 - before)}${inner}`
        const text = 'Hello & welcome 😀 <https://example.com/a>'
        expect(await htmlToText(html)).toBe(`${'x'.repeat(16_384 - before)}\n\n${text}`)
      }),
    )
  })

  test('leaves other work its turns, however long and hostile the HTML is', async () => {
    const hostile = [
      '<a href=x>',
      '&amp;',
      '<ul><li>',
      '<pre> \n',
      '<x',
      '<a href="https://e.test/">y',
      ' &nbsp;',
      '<!--',
      '</p>',
    ]
    for (const unit of hostile) {
      let turns = 0
      let ended = false
      const count = (): void => {
        turns++
        if (!ended) setImmediate(count)
      }
      setImmediate(count)
      await htmlToText(unit.repeat(Math.ceil(1_000_000 / unit.length)))
      ended = true
      expect(turns, unit).toBeGreaterThan(1)
    }
  })
})
