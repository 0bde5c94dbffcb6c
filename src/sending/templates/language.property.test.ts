import fc from 'fast-check'
import Handlebars from 'handlebars'
import { describe, expect, test } from 'vitest'
import { CapFault, caps, compile, type TemplateVariables } from './language.ts'
import { parse, type Text } from './parse.ts'

const names = [
  'a',
  'b',
  'a.b',
  'l',
  'this',
  'this.a',
  '@index',
  'unsubscribe_url',
  '__proto__',
  'constructor',
  'length',
]

/** Random templates: valid and broken tags of every kind, in any order. */
const piece = fc.oneof(
  fc.constantFrom(...names).map((name) => `{{${name}}}`),
  fc.tuple(fc.constantFrom('each', 'if', 'unless'), fc.constantFrom(...names)).map(([b, n]) => `{{#${b} ${n}}}`),
  fc.constantFrom(
    '{{/each}}',
    '{{/if}}',
    '{{/unless}}',
    '{{else}}',
    '{{',
    '}}',
    '{',
    '}',
    '{{{',
    '#',
    ' ',
    '\n',
    '{{#',
  ),
  fc.string({ maxLength: 5, unit: 'binary' }),
)
const hostileTemplate = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''))
const hostileVariables = fc.oneof(
  fc.dictionary(fc.constantFrom('a', 'b', 'a.b', 'l', 'this', 'unsubscribe_url', 'constructor'), fc.jsonValue()),
  fc.record({
    l: fc.array(fc.jsonValue(), { maxLength: 30 }),
    a: fc.array(fc.jsonValue(), { maxLength: 30 }),
  }),
) as fc.Arbitrary<TemplateVariables>

describe('any template with any variables', () => {
  test('S-320 renders or exceeds a cap, and never fails otherwise', () => {
    fc.assert(
      fc.property(hostileTemplate, hostileVariables, fc.boolean(), (source, variables, html) => {
        const template = compile(source, { html })
        template.missing(variables)
        try {
          expect(template.render(variables).length).toBeLessThanOrEqual(caps.characters)
        } catch (error) {
          if (!(error instanceof CapFault)) throw error
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('S-321 escapes every special character of a value in html', () => {
    fc.assert(
      fc.property(hostileTemplate, hostileVariables, (source, variables) => {
        const harmless = source.replace(/[<>"'&]/g, '')
        const output = compile(harmless, { html: true }).render(variables)
        expect(output).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/)
      }),
      { numRuns: 1_000 },
    )
  })

  test('S-324 reports exactly the required names that are not supplied as missing', () => {
    fc.assert(
      fc.property(hostileTemplate, (source) => {
        const { required, missing } = compile(source, { html: false })
        expect(missing({})).toEqual([...required])
        expect(missing(Object.fromEntries(required.map((name) => [name, null])))).toEqual([])
      }),
    )
  })
})

describe('hostile size', () => {
  /** Counts the characters that are read. */
  const counted = (source: string): Text & { read: number } => ({
    read: 0,
    length: source.length,
    indexOf(search: string, from = 0) {
      const at = source.indexOf(search, from)
      this.read += (at < 0 ? source.length : at) - from + 1
      return at
    },
    slice(from = 0, to = source.length) {
      this.read += to - from
      return source.slice(from, to)
    },
  })

  const shapes: Record<string, (n: number) => string> = {
    'open braces': (n) => '{'.repeat(n),
    'close braces': (n) => '}'.repeat(n),
    'pairs of open braces': (n) => '{{ '.repeat(n),
    'pairs of open braces and one closing pair': (n) => `${'{{ '.repeat(n)}}}`,
    'pairs of close braces': (n) => '}} '.repeat(n),
    'empty tags': (n) => '{{}}'.repeat(n),
    'invalid tags': (n) => '{{x y}}'.repeat(n),
    names: (n) => '{{x}}'.repeat(n),
    'unclosed blocks': (n) => '{{#if x}}'.repeat(n),
    'unopened blocks': (n) => '{{/if}}'.repeat(n),
    'blocks closed by another kind': (n) => '{{#if x}}{{/each}}'.repeat(n),
    'many blocks opened, then closed by another kind': (n) => '{{#if x}}'.repeat(n) + '{{/each}}'.repeat(n),
    'unclosed blocks and unopened blocks inside a loop': (n) =>
      `{{#each x}}${'{{#if x}}'.repeat(n)}${'{{/unless}}'.repeat(n)}{{/each}}`,
    'overlapping blocks': (n) => '{{#if x}}{{#each x}}'.repeat(n) + '{{/if}}{{/each}}'.repeat(n),
    'deeply nested blocks': (n) => '{{#if x}}'.repeat(n) + '{{/if}}'.repeat(n),
    elses: (n) => `{{#if x}}${'{{else}}'.repeat(n)}{{/if}}`,
    'one long name': (n) => `{{${'x'.repeat(n)}}}`,
    'one long path': (n) => `{{${'x.'.repeat(n)}x}}`,
    'one tag with many spaces': (n) => `{{#${' '.repeat(n)}if${' '.repeat(n)}x${' '.repeat(n)}}}`,
  }

  test.for(Object.entries(shapes))('every character is read a fixed number of times: %s', ([, make]) => {
    for (const n of [100, 10_000, 100_000]) {
      const source = counted(make(n))
      parse(source)
      expect(source.read / source.length).toBeLessThan(5)
    }
  })

  test.for(Object.entries(shapes))('a template of one megabyte renders: %s', ([, make]) => {
    const source = make(50_000).slice(0, 1_000_000)
    for (const variables of [{}, { x: 1 }, { x: [1] }]) {
      expect(compile(source, { html: true }).render(variables).length).toBeLessThan(1_100_000)
    }
  })

  test('S-317 blocks can be nested without a depth limit', () => {
    const n = 25_000
    const deep = (open: string, close: string) => `${open.repeat(n)}{{x}}${close.repeat(n)}`
    const render = (source: string, variables: TemplateVariables) => compile(source, { html: false }).render(variables)
    expect(render(deep('{{#if x}}', '{{/if}}'), { x: 'deep' })).toBe('deep')
    expect(render(deep('{{#unless y}}', '{{/unless}}'), { x: 'deep' })).toBe('deep')
    expect(render(deep('{{#if y}}{{else}}', '{{/if}}'), { x: 'deep' })).toBe('deep')
    const loops = `${'{{#each l}}'.repeat(5_000)}{{x}}${'{{/each}}'.repeat(5_000)}`
    expect(render(loops, { l: [1], x: 'deep' })).toBe('deep')
  })

  test('each rendered name is looked up once, inside and outside of loops', () => {
    let count = 0
    const variables = new Proxy({ x: 'v', l: new Array(10).fill(1) } as TemplateVariables, {
      getOwnPropertyDescriptor(target, key) {
        count++
        return Reflect.getOwnPropertyDescriptor(target, key)
      },
    })
    const lookups = (source: string): number => {
      count = 0
      compile(source, { html: false }).render(variables)
      return count
    }
    expect(lookups('{{x}}'.repeat(1_000))).toBe(1_000)
    expect(lookups(`{{#each l}}${'{{x}}'.repeat(100)}{{/each}}`)).toBe(1 + 10 * 100)
    expect(lookups('{{#if x}}'.repeat(1_000))).toBe(0)
    expect(lookups(`{{#if nothing}}${'{{x}}'.repeat(1_000)}{{/if}}`)).toBe(1)
  })
})

describe('compared with Handlebars', () => {
  // Only text that both treat alike. Handlebars drops line breaks around blocks and has its own escapes.
  const word = fc.string({ unit: fc.constantFrom(...'abc XYZ.,<>&"\'éß😀'), maxLength: 6 })
  const rich = fc.oneof(
    word,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  )
  const variablesOf = (scalar: fc.Arbitrary<unknown>) => {
    const nested = fc.record({ j1: scalar, j2: scalar })
    const io = fc.record({ p: scalar })
    const item = fc.record({ i1: scalar, i2: scalar, io, il: fc.array(nested, { maxLength: 3 }) })
    return fc.record({
      r1: scalar,
      r2: scalar,
      r3: scalar,
      ro: fc.record({ p: scalar, q: fc.record({ z: scalar }) }),
      rl: fc.array(item, { maxLength: 4 }),
      // Handlebars treats a null item as an empty object.
      rs: fc.array(
        scalar.filter((value) => value !== null),
        { maxLength: 4 },
      ),
    }) as fc.Arbitrary<TemplateVariables>
  }

  // Names by loop depth, because Handlebars does not look names up in outer scopes.
  type Level = { values: string[]; subjects: string[]; loops: [name: string, level: keyof typeof levels][] }
  const levels = {
    root: {
      values: ['r1', 'r2', 'r3', 'ro.p', 'ro.q.z', 'absent', 'ro.absent', 'absent.z'],
      subjects: ['r1', 'r2', 'ro', 'ro.p', 'rl', 'rs', 'absent'],
      loops: [
        ['rl', 'item'],
        ['rs', 'scalar'],
        ['absent', 'scalar'],
      ],
    },
    item: {
      values: ['i1', 'i2', 'io.p', 'this.i1', 'this.io.p', '@index'],
      subjects: ['i1', 'io', 'il', 'this.i2', '@index'],
      loops: [
        ['il', 'nested'],
        ['this.il', 'nested'],
      ],
    },
    nested: { values: ['j1', 'j2', 'this.j1', '@index'], subjects: ['j1', 'j2'], loops: [] },
    scalar: { values: ['this', '@index'], subjects: ['this', '@index'], loops: [] },
  } as Record<'root' | 'item' | 'nested' | 'scalar', Level>

  const part = (level: Level, depth: number): fc.Arbitrary<string> => {
    const value = fc
      .tuple(fc.constantFrom(...level.values), fc.constantFrom('', ' '))
      .map(([name, space]) => `{{${space}${name}${space}}}`)
    if (depth === 0) return fc.oneof(word, value)
    const subject = fc.constantFrom(...level.subjects)
    const inside = body(level, depth - 1)
    const either = fc
      .tuple(subject, inside, fc.option(inside))
      .map(([name, yes, no]) =>
        no === null ? `{{#if ${name}}}${yes}{{/if}}` : `{{#if ${name}}}${yes}{{else}}${no}{{/if}}`,
      )
    const unless = fc.tuple(subject, inside).map(([name, no]) => `{{#unless ${name}}}${no}{{/unless}}`)
    const loops = level.loops.map(([name, inner]) =>
      body(levels[inner], depth - 1).map((content) => `{{#each ${name}}}${content}{{/each}}`),
    )
    return fc.oneof(word, value, either, unless, ...loops)
  }
  const body = (level: Level, depth: number): fc.Arbitrary<string> =>
    fc.array(part(level, depth), { maxLength: 5 }).map((parts) => parts.join(''))

  // Handlebars adds adjacent numbers when escaping is off. So the unescaped case uses values with nothing to escape.
  test.for([
    ['with escaping', true, rich],
    [
      'without escaping',
      false,
      rich.map((value) => (typeof value === 'string' ? value.replace(/[<>&"']/g, '') : value)),
    ],
  ] as const)('both render the same output for the shared syntax, %s', ([, html, scalar]) => {
    fc.assert(
      fc.property(body(levels.root, 3), variablesOf(scalar), (source, values) => {
        const expected = Handlebars.compile(source)(values)
        expect(compile(source, { html }).render(values)).toBe(expected.replaceAll('&#x27;', '&#39;'))
      }),
      { numRuns: 400 },
    )
  })
})
