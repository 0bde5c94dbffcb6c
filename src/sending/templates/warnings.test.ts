import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile } from './language.ts'
import { maxWarnings } from './shapes.ts'
import type { TemplateRow } from './store.ts'
import { warningsOf } from './warnings.ts'

const inText = (text: string) =>
  warningsOf({ channel: 'sms', subject: '{{! unused }}', html: '{{! unused }}', text } as TemplateRow)

test.each([
  ['{{!-- {{name}} --}}', 'comment', /^\{\{!-- \{\{name\}\} is sent/],
  ['{{else if}}', 'else_if', /Write \{\{else\}\}\{\{#if \}\}/],
  ['{{#each ../items}}{{/each}}', 'parent_path', /Write \{\{#each items\}\}/],
  ['{{{ a.b }}}', 'triple_braces', /Write \{\{a\.b\}\}/],
  ['{{> footer}}', 'partial', /Write the content into the template/],
  ['{{price * 2}}', 'not_a_tag', /Write \{\{name\}\}/],
  ['{{#with a}}', 'not_a_tag', /no helpers/],
  ['{{#if (eq a b)}}', 'not_a_tag', /no helpers/],
  ['{{}}', 'not_a_tag', /^\{\{\}\} is sent as text/],
  ['{{#if a}}', 'misplaced_tag', /not closed\. Add \{\{\/if\}\}/],
  ['{{/each}}', 'misplaced_tag', /no \{\{#each\}\} is open here/],
  ['{{else}}', 'misplaced_tag', /between \{\{#if …\}\} and \{\{\/if\}\}/],
  ['{{@index}}', 'misplaced_tag', /inside \{\{#each …\}\}/],
] as const)('%s is a %s', (text, code, message) => {
  const [warning] = inText(`a\nbc ${text}`)
  expect(warning).toEqual({ field: 'text', line: 2, column: 4, code, message: expect.stringMatching(message) })
})

test.each([
  '{{name}} {{a.b}} {{#each l}}{{@index}}{{this}}{{/each}} {{#if a}}x{{else}}y{{/if}} {{#unless a}}z{{/unless}}',
  '{{unsubscribe_url}} a { b { c } } {{ not closed',
  '<style>@media (x) { a { b: c }}</style>',
])('%s has no warning', (text) => {
  expect(inText(text)).toEqual([])
})

test('warnings are in the order of the text, and a template has at most 100 of them', () => {
  const warnings = inText('{{else}} {{! a }}\n'.repeat(200))
  expect(warnings).toHaveLength(maxWarnings)
  expect(warnings.map(({ line, code }) => [line, code])).toEqual(
    Array.from({ length: maxWarnings }, (_, i) => [1 + Math.floor(i / 2), i % 2 === 0 ? 'misplaced_tag' : 'comment']),
  )
  const [long] = inText(`{{! ${'x'.repeat(500_000)} }}`)
  expect(long?.message.length).toBeLessThan(200)
})

test('a template has a warning exactly when braces of it stay in the text', () => {
  const piece = fc.constantFrom(
    '{{a}}',
    '{{#if a}}',
    '{{else}}',
    '{{/if}}',
    '{{#each l}}',
    '{{/each}}',
    '{{! c }}',
    'x',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const source = pieces.join('')
      // Every branch is rendered once with a true and once with a false condition.
      const { render } = compile(source, { html: false })
      const shown = [
        { a: 'v', l: [1] },
        { a: '', l: [1] },
      ]
        .map(render)
        .join('')
      expect(inText(source).length > 0).toBe(shown.includes('{{'))
    }),
    { numRuns: 500 },
  )
})
