import { describe, expect, test } from 'vitest'
import { type Cap, CapFault, caps, compile, type TemplateVariables } from './language.ts'

const text = (source: string, variables: TemplateVariables = {}) => compile(source, { html: false }).render(variables)
const html = (source: string, variables: TemplateVariables = {}) => compile(source, { html: true }).render(variables)
const missing = (source: string, variables: TemplateVariables = {}) =>
  compile(source, { html: false }).missing(variables)
const required = (source: string) => compile(source, { html: false }).required

describe('names', () => {
  test('S-307 S-310 a name is replaced by its value, with or without white space inside the braces', () => {
    expect(text('Hello {{name}}, {{ name }}, {{\n\tname\u00a0}}!', { name: 'Ann' })).toBe('Hello Ann, Ann, Ann!')
    expect(
      text('{{first_name}} {{last-name}} {{$a}} {{é1}} {{7}}', {
        first_name: 'a',
        'last-name': 'b',
        $a: 'c',
        é1: 'd',
        7: 'e',
      }),
    ).toBe('a b c d e')
    expect(text('no tags at all')).toBe('no tags at all')
    expect(text('')).toBe('')
  })

  test('S-308 a path reads nested objects', () => {
    expect(text('{{a.b.c}}', { a: { b: { c: 'deep' } } })).toBe('deep')
    expect(text('[{{a.b.c}}]', { a: { b: 'flat' } })).toBe('[]')
  })

  test('S-309 a flat key with a dot takes precedence over the path, even when it is null', () => {
    expect(text('{{a.b}}', { 'a.b': 'flat', a: { b: 'path' } })).toBe('flat')
    expect(text('[{{a.b}}]', { 'a.b': null, a: { b: 'path' } })).toBe('[]')
    expect(text('{{#each l}}{{a.b}}{{/each}}', { l: [{ 'a.b': 'flat', a: { b: 'path' } }] })).toBe('flat')
  })

  test('S-322 S-323 SD-85 null, arrays and objects render as nothing, and booleans and numbers as in JSON', () => {
    const values = { n: null, l: [1, 2], o: { a: 1 }, t: true, f: false, z: 0, m: -0, d: 1.5, e: 1e21 }
    expect(text('{{n}}|{{l}}|{{o}}|{{t}}|{{f}}|{{z}}|{{m}}|{{d}}|{{e}}', values)).toBe('|||true|false|0|0|1.5|1e+21')
    expect(text('{{a}}{{b}}{{c}}{{d}}', { a: Number.NaN, b: 1n, c: () => 'x', d: Symbol('s') })).toBe('')
  })

  test('SD-85 only own properties of objects resolve, so prototypes, array indexes and lengths do not', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'a.constructor', 'a.__proto__']) {
      expect(text(`[{{${name}}}]{{#if ${name}}}yes{{/if}}`, { a: {} })).toBe('[]')
      expect(missing(`{{${name}}}`, { a: {} })).toEqual([name])
    }
    expect(text('[{{l.0}}{{l.length}}{{s.length}}{{s.0}}]', { l: ['x'], s: 'text' })).toBe('[]')
    expect(text('{{#each l}}[{{length}}{{0}}]{{/each}}', { l: [['x'], 'text'] })).toBe('[][]')
    const own = JSON.parse('{"__proto__":"mine","constructor":{"name":"theirs"}}')
    expect(text('{{__proto__}} {{constructor.name}}', own)).toBe('mine theirs')
    const inherited = Object.create({ name: 'inherited' })
    expect(text('[{{name}}{{o.name}}]', { o: inherited })).toBe('[]')
  })
})

describe('loops', () => {
  test('S-311 S-312 S-313 SD-85 each renders its body for every item, with its keys, this and @index from 0', () => {
    expect(text('{{#each l}}{{@index}}:{{name}};{{/each}}', { l: [{ name: 'a' }, { name: 'b' }] })).toBe('0:a;1:b;')
    expect(text('{{#each l}}{{this}},{{/each}}', { l: ['x', 2, true, null, [1], { a: 1 }] })).toBe('x,2,true,,,,')
    expect(text('{{#each l}}{{this.a.b}}{{/each}}', { l: [{ a: { b: 'in' } }, 'no'] })).toBe('in')
    expect(text('{{#each l}}{{this}}{{/each}}', { l: [{ this: 'never' }] })).toBe('')
  })

  test('S-314 a name that the item lacks is looked up in the outer scopes', () => {
    const variables = { who: 'outer', l: [{ who: 'inner' }, {}, { who: null }, 'text'] }
    expect(text('{{#each l}}[{{who}}]{{/each}}', variables)).toBe('[inner][outer][][outer]')
    const nested = { top: 'T', a: [{ mid: 'M', b: [{ low: 'L' }] }] }
    expect(text('{{#each a}}{{#each b}}{{top}}{{mid}}{{low}}{{/each}}{{/each}}', nested)).toBe('TML')
    // The item that has the first part of a path resolves the whole path.
    const shadowed = { user: { name: 'Outer' }, l: [{ user: {} }, { user: { name: 'Own' } }, {}] }
    expect(text('{{#each l}}[{{user.name}}]{{/each}}', shadowed)).toBe('[][Own][Outer]')
  })

  test('S-313 a nested loop has its own this and @index, and the outer ones are restored after it', () => {
    const l = [['a', 'b'], ['c']]
    expect(text('{{#each l}}{{@index}}({{#each this}}{{@index}}{{this}}{{/each}}){{@index}}{{/each}}', { l })).toBe(
      '0(0a1b)01(0c)1',
    )
    expect(text('{{#each l}}{{#if @index}}, {{/if}}{{this}}{{/each}}', { l: ['a', 'b', 'c'] })).toBe('a, b, c')
  })

  test('SD-85 each renders nothing for an empty array and for a value that is not an array', () => {
    for (const l of [undefined, null, 'text', 5, true, { a: 1 }, { length: 2 }, []]) {
      expect(text('[{{#each l}}x{{/each}}]', { l })).toBe('[]')
    }
  })
})

describe('conditions', () => {
  test('S-315 S-318 SD-85 if is false for empty arrays and strings, 0, null, false and missing values', () => {
    for (const x of [[], '', 0, -0, null, false, undefined, Number.NaN]) {
      expect(text('{{#if x}}yes{{else}}no{{/if}}', { x })).toBe('no')
      expect(text('[{{#if x}}yes{{/if}}]', { x })).toBe('[]')
    }
    for (const x of [[0], ' ', '0', 1, true, {}, { a: null }]) {
      expect(text('{{#if x}}yes{{else}}no{{/if}}', { x })).toBe('yes')
    }
    expect(text('{{#if nothing}}yes{{else}}no{{/if}}')).toBe('no')
    expect(text('a{{#if x}}b{{ else }}c{{/if}}d', { x: 1 })).toBe('abd')
  })

  test('S-316 unless renders when its name is falsy', () => {
    expect(text('{{#unless x}}no{{/unless}}')).toBe('no')
    expect(text('[{{#unless x}}no{{/unless}}]', { x: 1 })).toBe('[]')
  })

  test('S-317 blocks of all kinds can be nested', () => {
    const inner = '{{#each m}}{{#if this}}{{this}}{{else}}_{{/if}}{{/each}}'
    const source = `{{#each l}}{{#if a}}A{{#unless b}}-b{{/unless}}{{else}}${inner}{{/if}};{{/each}}`
    expect(text(source, { l: [{ a: 1 }, { a: 1, b: 1 }, { m: [1, 0, 2] }] })).toBe('A-b;A;1_2;')
    expect(text('{{#if a}}{{#if b}}1{{else}}2{{/if}}{{else}}{{#if b}}3{{else}}4{{/if}}{{/if}}', { b: 1 })).toBe('3')
  })
})

describe('text that is not a tag', () => {
  test.for([
    ['{{> x}}', '{{> x}}'],
    ['{{x y}}', '{{x y}}'],
    ['{{upper x}}', '{{upper x}}'],
    ['{{x + 1}}', '{{x + 1}}'],
    ['{{x|y}}', '{{x|y}}'],
    ['{{../x}}', '{{../x}}'],
    ['{{x[0]}}', '{{x[0]}}'],
    ['{{"x"}}', '{{"x"}}'],
    ['{{& x}}', '{{& x}}'],
    ['{{! note }}', '{{! note }}'],
    ['{{else if x}}', '{{else if x}}'],
    ['{{#with x}}a{{/with}}', '{{#with x}}a{{/with}}'],
    ['{{#if}}a{{/if}}', '{{#if}}a{{/if}}'],
    ['{{#if x y}}a{{/if}}', '{{#if x y}}a{{/if}}'],
    ['{{#if (x)}}a{{/if}}', '{{#if (x)}}a{{/if}}'],
    ['{{#ifx}}a{{/ifx}}', '{{#ifx}}a{{/ifx}}'],
    ['{{}}{{ }}', '{{}}{{ }}'],
    ['{{.}}{{x.}}{{.x}}{{x..x}}', '{{.}}{{x.}}{{.x}}{{x..x}}'],
    ['{{@key}}{{@first}}', '{{@key}}{{@first}}'],
    ['{{@index}}', '{{@index}}'],
    ['{x}{{x}{x}}', '{x}{{x}{x}}'],
    ['{{x', '{{x'],
    ['x}}', 'x}}'],
  ])('S-319 SD-85 %s stays unchanged', ([source, output]) => {
    expect(text(source as string, { x: 'X', y: 'Y' })).toBe(output)
    expect(required(source as string)).toEqual([])
  })

  test('SD-85 triple braces are a placeholder between two literal braces', () => {
    expect(html('{{{x}}}', { x: '<' })).toBe('{&lt;}')
    expect(text('{{{{x}}}} {{ {{x}} }}', { x: 'X' })).toBe('{{X}} {{ X }}')
  })

  test('SD-85 an else outside of an if block, or a second one inside it, is literal', () => {
    expect(text('{{else}}')).toBe('{{else}}')
    expect(text('{{#unless x}}a{{else}}b{{/unless}}')).toBe('a{{else}}b')
    expect(text('{{#each l}}a{{else}}b{{/each}}', { l: [1] })).toBe('a{{else}}b')
    expect(text('{{#if x}}a{{else}}b{{else}}c{{/if}}')).toBe('b{{else}}c')
    expect(text('{{#if x}}{{#each l}}{{else}}{{/each}}{{/if}}', { x: 1, l: [1] })).toBe('{{else}}')
  })

  test('S-320 the tag of an unclosed or mismatched block is literal, and the tags around it still work', () => {
    const x = { x: 1, l: [1, 2], n: 'N' }
    expect(text('a{{#if x}}b{{n}}', x)).toBe('a{{#if x}}bN')
    expect(text('a{{/if}}b{{n}}', x)).toBe('a{{/if}}bN')
    expect(text('{{#if x}}a{{/each}}b{{/if}}', x)).toBe('a{{/each}}b')
    expect(text('{{#if x}}{{#each l}}{{n}}{{/if}}', x)).toBe('{{#each l}}N')
    expect(text('{{#if x}}{{#each l}}y{{/if}}{{/each}}', x)).toBe('{{#each l}}y{{/each}}')
    expect(text('{{#each l}}{{#unless x}}.{{/each}}', x)).toBe('{{#unless x}}.{{#unless x}}.')
    // An else inside an unclosed block belongs to the block around it.
    expect(text('{{#if x}}1{{#each l}}{{else}}2{{/if}}', {})).toBe('2')
    expect(text('{{ #if  x }}spaced{{ / if }}{{# if x}}too{{/if }}', x)).toBe('spacedtoo')
  })
})

describe('escaping', () => {
  test('S-321 SD-85 values are escaped only in html, and the template itself is never escaped', () => {
    const x = `& < > " ' \` = /`
    expect(html('<b>{{x}}</b>', { x })).toBe('<b>&amp; &lt; &gt; &quot; &#39; ` = /</b>')
    expect(text('<b>{{x}}</b>', { x })).toBe(`<b>${x}</b>`)
    expect(html('{{#each l}}{{this}}{{a}}{{/each}}', { l: ['<', { a: '>' }] })).toBe('&lt;&gt;')
    expect(html('{{x}}', { x: '&amp;' })).toBe('&amp;amp;')
  })

  test('tags inside values are not rendered', () => {
    expect(text('{{x}}{{y}}', { x: '{{y}}', y: '{{#if x}}' })).toBe('{{y}}{{#if x}}')
  })
})

describe('the unsubscribe link', () => {
  test('SD-34 stays in the output for the send to replace, is never missing and cannot be set by a variable', () => {
    const variables = { unsubscribe_url: 'https://evil.example', l: [{ unsubscribe_url: 'x' }] }
    const source = '{{unsubscribe_url}} {{ unsubscribe_url\n}}{{#each l}} {{unsubscribe_url}}{{/each}}'
    for (const render of [text, html]) {
      expect(render(source, variables)).toBe('{{unsubscribe_url}} {{unsubscribe_url}} {{unsubscribe_url}}')
    }
    expect(text('{{#if unsubscribe_url}}{{unsubscribe_url}}{{/if}}')).toBe('{{unsubscribe_url}}')
    expect(text('[{{#each unsubscribe_url}}x{{/each}}]', { unsubscribe_url: [1] })).toBe('[]')
    expect(required('{{unsubscribe_url}}{{#each unsubscribe_url}}{{/each}}')).toEqual([])
  })
})

describe('required variables', () => {
  const source = `{{b}}{{a.x}}{{b}}{{#each items}}{{inside}}{{#each deeper}}{{/each}}{{/each}}
    {{#if c}}{{d}}{{#each e}}{{/each}}{{else}}{{f}}{{/if}}{{#unless g}}{{h}}{{/unless}}{{i}}{{unsubscribe_url}}`

  test('S-324 S-325 SD-86 are the names and loops outside of blocks, each once, in order', () => {
    expect(required(source)).toEqual(['b', 'a.x', 'items', 'i'])
    expect(missing(source)).toEqual(['b', 'a.x', 'items', 'i'])
  })

  test('S-326 S-327 exclude names inside blocks and the subjects of conditions', () => {
    for (const name of ['inside', 'deeper', 'c', 'd', 'e', 'f', 'g', 'h']) expect(required(source)).not.toContain(name)
    expect(missing(source, { b: 1, a: { x: 1 }, items: [], i: '' })).toEqual([])
  })

  test('S-322 SD-86 count as supplied when null, but not when a parent in the path is missing or null', () => {
    expect(missing('{{a}}{{b.c}}', { a: null, b: { c: null } })).toEqual([])
    for (const variables of [{}, { b: null }, { b: {} }, { b: 'text' }, { b: [{ c: 1 }] }, { b: { c: undefined } }]) {
      expect(missing('{{b.c}}', variables)).toEqual(['b.c'])
    }
    expect(missing('{{b.c}}', { 'b.c': null })).toEqual([])
    expect(missing('{{#each items}}{{/each}}', { items: 'no array' })).toEqual([])
  })

  test('S-320 S-326 include names in an unclosed block', () => {
    expect(required('{{#if x}}{{a}}')).toEqual(['a'])
    expect(required('{{#each x}}{{a}}{{/if}}')).toEqual(['a'])
  })
})

describe('caps', () => {
  const exceededCap = (source: string, variables: TemplateVariables): Cap => {
    try {
      text(source, variables)
    } catch (error) {
      if (error instanceof CapFault) return error.cap
      throw error
    }
    throw new Error('no cap was exceeded')
  }
  const list = (n: number) => new Array(n).fill(1)

  test('S-339 X-346 all loops together run at most 5,000 iterations, and nested loops multiply', () => {
    expect(text('{{#each a}}.{{/each}}', { a: list(5_000) })).toHaveLength(5_000)
    expect(exceededCap('{{#each a}}.{{/each}}', { a: list(5_001) })).toBe('iterations')
    const twice = '{{#each a}}.{{/each}}{{#each b}}.{{/each}}'
    expect(text(twice, { a: list(2_500), b: list(2_500) })).toHaveLength(5_000)
    expect(exceededCap(twice, { a: list(2_500), b: list(2_501) })).toBe('iterations')
    const nested = '{{#each a}}{{#each b}}.{{/each}}{{/each}}'
    // 50 iterations of the outer loop and 50 × 99 of the inner one add up to 5,000.
    expect(text(nested, { a: list(50), b: list(99) })).toHaveLength(4_950)
    expect(exceededCap(nested, { a: list(50), b: list(100) })).toBe('iterations')
  })

  test('S-340 X-346 all loops together produce at most 2,000,000 characters', () => {
    const body = 'x'.repeat(1_000)
    const loop = `{{#each a}}${body}{{/each}}`
    expect(text(loop, { a: list(2_000) })).toHaveLength(2_000_000)
    expect(exceededCap(`${loop}{{#each b}}y{{/each}}`, { a: list(2_000), b: [1] })).toBe('loopCharacters')
    expect(exceededCap(`{{#each a}}${body}y{{/each}}`, { a: list(2_000) })).toBe('loopCharacters')
    expect(exceededCap(`{{#each b}}{{#each a}}${body}{{/each}}y{{/each}}`, { a: list(2_000), b: [1] })).toBe(
      'loopCharacters',
    )
    const thrice = '{{#each a}}{{v}}{{/each}}{{#each b}}{{v}}{{/each}}-{{#each c}}{{v}}{{/each}}'
    const shares = { v: body, a: list(1_000), b: list(500) }
    expect(text(thrice, { ...shares, c: list(500) })).toHaveLength(2_000_001)
    expect(exceededCap(thrice, { ...shares, c: list(501) })).toBe('loopCharacters')
    // Text before, between and after loops does not count.
    const around = 'z'.repeat(100_000)
    expect(text(around + loop + around, { a: list(2_000) })).toHaveLength(2_200_000)
    expect(text(`{{#each b}}{{#each a}}${body}{{/each}}{{/each}}`, { a: list(1_000), b: list(2) })).toHaveLength(
      2_000_000,
    )
  })

  test('S-341 X-346 a part renders to at most 10,000,000 characters, inside and outside of loops', () => {
    const big = 'v'.repeat(10_000)
    expect(text('{{v}}'.repeat(1_000), { v: big })).toHaveLength(10_000_000)
    expect(exceededCap(`${'{{v}}'.repeat(1_000)}.`, { v: big })).toBe('characters')
    expect(exceededCap(`.${'{{v}}'.repeat(1_000)}`, { v: big })).toBe('characters')
    const nearly = '{{v}}'.repeat(999)
    expect(exceededCap(`${nearly}{{#each l}}{{v}}{{/each}}`, { v: big, l: [1, 2] })).toBe('characters')
    expect(html('{{v}}', { v: '<'.repeat(2_500_000) })).toHaveLength(10_000_000)
    expect(() => html('{{v}}.', { v: '<'.repeat(2_500_000) })).toThrow(CapFault)
  })

  test('a template whose output would not fit into memory is stopped while it renders', () => {
    expect(exceededCap('{{v}}'.repeat(200_000), { v: 'v'.repeat(60_000) })).toBe('characters')
    expect(exceededCap(`{{#each l}}${'{{v}}'.repeat(100_000)}{{/each}}`, { v: 'v'.repeat(60_000), l: [1] })).toBe(
      'loopCharacters',
    )
  })

  test('loops without output are stopped too', () => {
    expect(exceededCap(`{{#each l}}${'{{#if x}}{{/if}}'.repeat(60_000)}{{/each}}`, { l: list(5_000) })).toBe('steps')
    expect(caps.steps).toBe(1_000_000)
  })

  test('each name in a path counts as a step', () => {
    const deep = (a: unknown, depth: number): unknown => (depth === 0 ? a : { a: deep(a, depth - 1) })
    const source = (tags: number) => `{{#each l}}${'{{a.a.a.a.a.a.a.a.a.a}}'.repeat(tags)}{{/each}}`
    const variables = { l: list(10), a: deep('', 9) }
    expect(compile(source(9_000), { html: true }).render(variables)).toBe('')
    expect(exceededCap(source(11_000), variables)).toBe('steps')
    const items = { l: list(10).map(() => ({ a: variables.a })) }
    expect(exceededCap(source(11_000).replaceAll('{{a', '{{this.a'), items)).toBe('steps')
  })
})
