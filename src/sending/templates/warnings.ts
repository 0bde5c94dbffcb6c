/** Finds braces in a template that look like a tag of another template language and are sent as text. */
import { type IgnoredBraces, parse } from './parse.ts'
import type { TemplateRow } from './store.ts'

export const warningCodes = [
  'comment',
  'else_if',
  'parent_path',
  'triple_braces',
  'partial',
  'misplaced_tag',
  'not_a_tag',
] as const

export type TemplateWarning = {
  field: 'subject' | 'html' | 'text'
  line: number
  column: number
  code: (typeof warningCodes)[number]
  message: string
}

/** The first ones of a template. More do not help its author. */
export const maxWarnings = 100
/** How much of the template a message quotes. */
const maxQuoted = 60

type Trap = { code: TemplateWarning['code']; message: string }

const sentAsText = 'is sent as text'

/** What to write instead of a tag that is valid elsewhere. */
const misplacedTag = (tag: string, inner: string): Trap => {
  const code = 'misplaced_tag'
  const [, sign, block] = /^([#/])\s*(each|if|unless)\b/.exec(inner) ?? []
  if (sign === '#') return { code, message: `${tag} ${sentAsText}: it is not closed. Add {{/${block}}}.` }
  if (sign === '/') {
    return { code, message: `${tag} ${sentAsText}: no {{#${block}}} is open here. Remove it, or open the block first.` }
  }
  if (inner === 'else') {
    return { code, message: `${tag} ${sentAsText}. Write it once, directly between {{#if …}} and {{/if}}.` }
  }
  return { code, message: `${tag} ${sentAsText}. Write it inside {{#each …}}.` }
}

const trapIn = (braces: string, isMisplaced: boolean): Trap => {
  const tag = braces.length > maxQuoted ? `${braces.slice(0, maxQuoted)}…` : braces
  const inner = braces.replace(/^\{+|\}+$/g, '').trim()
  if (isMisplaced) return misplacedTag(tag, inner)
  const short = inner.slice(0, maxQuoted)
  if (inner.startsWith('!')) {
    return { code: 'comment', message: `${tag} ${sentAsText}: there are no comments in templates. Remove it.` }
  }
  if (/^else\s+if\b/.test(inner)) {
    const condition = short.replace(/^else\s+if\s*/, '')
    const message = `${tag} ${sentAsText}. Write {{else}}{{#if ${condition}}} and close both blocks with {{/if}}{{/if}}.`
    return { code: 'else_if', message }
  }
  if (inner.includes('../')) {
    const message = `${tag} ${sentAsText}. Write {{${short.replaceAll('../', '')}}}: a name that the item does not have is looked up outside the loop.`
    return { code: 'parent_path', message }
  }
  if (braces.startsWith('{{{')) {
    const message = `The outer braces of ${tag} are sent as text. Write {{${short}}}: values in html are always escaped.`
    return { code: 'triple_braces', message }
  }
  if (inner.startsWith('>')) {
    const message = `${tag} ${sentAsText}: there are no partials. Write the content into the template.`
    return { code: 'partial', message }
  }
  const message = `${tag} ${sentAsText}. Write {{name}} for a value; there are no helpers and no expressions.`
  return { code: 'not_a_tag', message }
}

/** Collects the braces of each kind that the parser reports, at most `maxWarnings` of each, in the order of the text. */
const ignoredIn = (text: string): IgnoredBraces[] => {
  const ignored: IgnoredBraces[] = []
  const counts = { plain: 0, misplaced: 0 }
  parse(text, undefined, (braces) => {
    // The parser reports braces without a tag first, then misplaced tags.
    if (counts[braces.misplaced ? 'misplaced' : 'plain']++ < maxWarnings) ignored.push(braces)
  })
  return ignored.sort((a, b) => a.start - b.start).slice(0, maxWarnings)
}

const warningsIn = (field: TemplateWarning['field'], text: string): TemplateWarning[] => {
  let line = 1
  let lineStart = 0
  return ignoredIn(text).map(({ start, end, misplaced }) => {
    for (let next = text.indexOf('\n', lineStart); next >= 0 && next < start; next = text.indexOf('\n', lineStart)) {
      line++
      lineStart = next + 1
    }
    return { field, line, column: start - lineStart + 1, ...trapIn(text.slice(start, end), misplaced) }
  })
}

/** The warnings of the parts that the channel uses. */
export const warningsOf = ({ channel, subject, html, text }: TemplateRow): TemplateWarning[] => {
  const parts = channel === 'sms' ? { text } : { subject, html, text }
  return Object.entries(parts)
    .flatMap(([field, part]) => (part === null ? [] : warningsIn(field as TemplateWarning['field'], part)))
    .slice(0, maxWarnings)
}
