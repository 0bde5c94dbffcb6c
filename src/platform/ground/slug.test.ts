import { expect, test } from 'vitest'
import { slugOf, suffixed } from './slug.ts'

test.each([
  ['Müller & Söhne', 'muller-sohne'],
  ['Café Crème Brûlée', 'cafe-creme-brulee'],
  // The same letters, written as one character and as a letter with a mark.
  ['\u00c5ngstr\u00f6m', 'angstrom'],
  ['A\u030angstro\u0308m', 'angstrom'],
  ['Straßenbahn GROẞ', 'strassenbahn-gross'],
  ['Ærø Øl & Œuvre', 'aero-ol-oeuvre'],
  ['Łódź', 'lodz'],
  ['Đorđe Þór Ħal', 'dorde-thor-hal'],
  ['İstanbul Işık', 'istanbul-isik'],
  ['Việt Nam', 'viet-nam'],
  ['ﬁne ①', 'fine-1'],
  ['Ann’s  --  Shop!', 'ann-s-shop'],
  ['株式会社 ACME', 'acme'],
])('The slug of %s is %s', (name, slug) => {
  expect(slugOf(name, 'org')).toBe(slug)
})

test.each(['株式会社', 'Газпром', 'شركة', 'विज्ञान', '🙂', '—', ''])(
  'A name without a Latin letter or a digit, such as %s, has the slug that is given for it',
  (name) => {
    expect(slugOf(name, 'org')).toBe('org')
  },
)

test('A slug has at most 48 characters and no dash at its ends, with a suffix too', () => {
  expect(slugOf(`${'y'.repeat(47)} z`, 'org')).toBe('y'.repeat(47))
  expect(slugOf('ß'.repeat(30), 'org')).toBe('s'.repeat(48))
  expect(suffixed(slugOf(`${'y'.repeat(40)} zzzzzzzz`, 'org'))).toMatch(/^y{40}-[0-9a-z]{6}$/)
})
