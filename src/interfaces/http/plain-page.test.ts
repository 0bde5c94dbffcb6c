import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sha256 } from '../../platform/ground/crypto.ts'
import { plainColours, plainPage, plainPageHeaders } from './plain-page.ts'

const sheet = readFileSync(new URL('../../../web/src/ui/theme.css', import.meta.url), 'utf8')

const ofDashboard = (name: string): string[] =>
  new RegExp(`--c-${name}: light-dark\\((#\\w+), (#\\w+)\\);`).exec(sheet)?.slice(1) ?? []

test('Pages that the service makes have the colours of the dashboard in both themes', () => {
  const names = Object.keys(plainColours)
  expect(Object.fromEntries(names.map((name) => [name, ofDashboard(name)]))).toEqual(plainColours)
})

test('The policy of a page admits its style, which uses no colour that is not defined, and nothing else', () => {
  const page = plainPage({ icon: 'mail', title: 'Title', body: '<p>Body</p>' })
  const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] as string
  const policy = plainPageHeaders['content-security-policy']
  expect(policy).toContain(`default-src 'none'; style-src 'sha256-${sha256(style).toString('base64')}'`)
  const used = [...style.matchAll(/var\(--c-([\w-]+)\)/g)].map(([, name]) => name as string)
  expect(new Set(used)).toEqual(new Set(Object.keys(plainColours)))
  expect(page).not.toMatch(/<script|<link|src=|url\(|@import/)
})
